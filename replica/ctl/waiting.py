"""What `wait --for` waits for, and whether an object is so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lockd.errors import ConfigError
from replica.ctl.jsonpath import JsonPath, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

DELETE: Final = "delete"
CREATE: Final = "create"
_FORMS: Final = "delete, create, condition=NAME[=VALUE] or jsonpath={PATH}[=VALUE]"


@dataclass(frozen=True, slots=True)
class Wish:
    """What an object is to become.

    Attributes:
        condition: The name of a condition, in lower case; "" for the others.
        path: A field; None for the others.
        value: What the condition's status or the field is to be; None: any, for a field.
        gone: Is it to be gone?
    """

    condition: str = ""
    path: JsonPath | None = None
    value: str | None = None
    gone: bool = False

    @classmethod
    def parse(cls, text: str) -> Wish:
        """What `--for` says.

        Raises:
            ConfigError: It can't be read.
        """
        what, equals, rest = text.partition("=")
        match what.strip().lower():
            case "delete" if not equals:
                return cls(gone=True)
            case "create" if not equals:
                return cls()
            case "condition" if rest.strip():
                name, _, value = rest.partition("=")
                return cls(condition=name.strip().lower(), value=(value.strip() or "True").lower())
            case "jsonpath" if rest.strip():
                way, wanted = _split(rest.strip().strip("'\""))
                return cls(path=JsonPath.parse(way), value=wanted)
        raise ConfigError((f'--for "{text}" is none of {_FORMS}',))

    def holds(self, manifest: Mapping[str, Any] | None) -> bool:
        """Is an object so? None: there is no such object."""
        if manifest is None:
            return self.gone
        if self.gone:
            return False
        if self.path is not None:
            found = [text_of(each) for each in self.path.find(manifest)]
            return bool(found) if self.value is None else found == [self.value]
        return not self.condition or self._condition(manifest) == self.value

    def _condition(self, manifest: Mapping[str, Any]) -> str:
        status = manifest.get("status")
        conditions = status.get("conditions") if isinstance(status, dict) else None
        for each in conditions if isinstance(conditions, list) else ():
            if isinstance(each, dict) and str(each.get("type")).lower() == self.condition:
                return str(each.get("status")).lower()
        return ""

    @property
    def met(self) -> str:
        """What is said of an object once it is so."""
        if self.gone:
            return "deleted"
        return "condition met" if self.condition or self.path is not None else "created"


def _split(text: str) -> tuple[str, str | None]:
    """A path in braces, or up to the first `=` that is in no brackets, and what follows."""
    depth = 0
    for index, char in enumerate(text):
        depth += (char in "{[") - (char in "}]")
        if char == "=" and not depth:
            return text[:index].strip().strip("'\""), text[index + 1 :].strip().strip("'\"")
    return text, None
