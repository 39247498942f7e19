"""Selecting and sorting objects by their fields, in kubectl's words: `spec.nodeName=n1,status.phase!=Running`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lockd.errors import ConfigError
from replica.api.kinds import EVENT, NODE, POD
from replica.ctl.jsonpath import JsonPath, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from replica.api.kinds import Kind

_COMMON: Final = ("metadata.name", "metadata.namespace")
_OF_KIND: Final[Mapping[Kind, tuple[str, ...]]] = {
    POD: ("spec.nodeName", "spec.schedulerName", "spec.restartPolicy", "status.phase", "status.nominatedNodeName"),
    NODE: ("spec.unschedulable",),
    EVENT: (
        *("reason", "type", "reportingController"),
        *(f"{of}.{field}" for of in ("regarding", "involvedObject") for field in ("kind", "name", "namespace", "uid")),
    ),
}
_DEFAULTS: Final = {
    "status.phase": "Pending",
    "spec.unschedulable": "false",
    "spec.schedulerName": "default-scheduler",
    "spec.restartPolicy": "Always",
}
_OTHER_NAMES: Final = {"involvedObject": "regarding", "regarding": "involvedObject"}
"""The two forms of an event."""

_TERM: Final = re.compile(r"([^=!,]+?)\s*(==|=|!=)\s*([^=!,]*)")


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """Fields that an object must have (or must not have) with these texts: (field, equal, text)."""

    terms: tuple[tuple[str, bool, str], ...]

    @classmethod
    def parse(cls, text: str, kinds: Iterable[Kind]) -> FieldSelector:
        """A selector for objects of these kinds.

        Raises:
            ConfigError: It can't be read, or names a field by which some kind can't be selected.
        """
        terms = []
        for part in filter(None, (each.strip() for each in text.split(","))):
            match = _TERM.fullmatch(part)
            if match is None:
                raise ConfigError(
                    (f'field selector "{text}" can\'t be read at "{part}": say FIELD=VALUE or FIELD!=VALUE',)
                )
            terms.append((match[1], match[2] != "!=", match[3].strip()))
        for kind in kinds:
            known = (*_COMMON[: 2 if kind.namespaced else 1], *_OF_KIND.get(kind, ()))
            for field, _, _ in terms:
                if field not in known:
                    raise ConfigError((f'{kind.plural} can\'t be selected by "{field}": only by {", ".join(known)}',))
        return cls(tuple(terms))

    def matches(self, manifest: Mapping[str, Any]) -> bool:
        """Does an object, as its user sees it, have these fields?"""
        return all((_field(manifest, field) == text) == equal for field, equal, text in self.terms)


def _field(manifest: Mapping[str, Any], field: str) -> str:
    found = JsonPath.parse(field).find(manifest)
    first, _, rest = field.partition(".")
    if not found and first in _OTHER_NAMES:
        found = JsonPath.parse(f"{_OTHER_NAMES[first]}.{rest}").find(manifest)
    return (text_of(found[0]) if found else "") or _DEFAULTS.get(field, "")


def sort_key(path: JsonPath, manifest: Mapping[str, Any]) -> tuple[int, float, str]:
    """What to sort by: objects without the field first, then numbers, then texts."""
    found = path.find(manifest)
    if not found or found[0] is None:
        return 0, 0.0, ""
    value = found[0]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return 1, float(value), ""
    return 2, 0.0, text_of(value)
