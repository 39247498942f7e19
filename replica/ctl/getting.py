"""Reading objects for people and for machines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from component.tables import table
from replica.api.codec import Undecodable, decode
from replica.api.drafts import to_manifest
from replica.api.keys import object_key
from replica.api.kinds import EVENT
from replica.ctl.columns import Row, columns
from replica.ctl.fields import sort_key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lockd.ports import KeyValue
    from replica.api.kinds import Kind
    from replica.api.objects import Object
    from replica.ctl.fields import FieldSelector
    from replica.ctl.jsonpath import JsonPath
    from replica.ctl.store import ObjectStore
    from replica.ctl.targets import Target


NOT_FOUND: Final = "Error from server (NotFound)"


@dataclass(frozen=True, slots=True)
class Stored:
    """An object that was found, decoded and as its user sees it."""

    kind: Kind
    object: Object
    manifest: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """What a target led to.

    Attributes:
        problems: One line for each name that there isn't and each value that can't be read.
        revision: At which the objects were listed; 0 when they were named.
    """

    kind: Kind
    objects: tuple[Stored, ...]
    problems: tuple[str, ...]
    revision: int = 0

    def sorted(self, path: JsonPath) -> Found:
        """The same, by what a path leads to."""
        return replace(self, objects=tuple(sorted(self.objects, key=lambda each: sort_key(path, each.manifest))))

    def without_missing(self) -> Found:
        """The same, without a word of names that there aren't."""
        return replace(self, problems=tuple(each for each in self.problems if not each.startswith(NOT_FOUND)))


def find(
    store: ObjectStore,
    target: Target,
    namespace: str,
    matches: Callable[[Mapping[str, str]], bool] | None = None,
    fields: FieldSelector | None = None,
) -> Found:
    """Read what a target names.

    Args:
        namespace: "" for all of them.
        matches: A predicate on labels, for a target without names.
        fields: The same for fields.

    Raises:
        StoreError: etcd didn't answer, or refused.
    """
    kind = target.kind
    revision = 0
    problems: list[str] = []
    kvs: list[KeyValue] = []
    if target.names:
        keys = [object_key(store.prefix, kind, name, namespace) for name in target.names]
        for name, kv in zip(target.names, store.read(keys), strict=True):
            if kv is None:
                problems.append(not_found(kind, name))
            else:
                kvs.append(kv)
    else:
        listing = store.every(kind, namespace if kind.namespaced else "")
        revision, kvs = listing.revision, list(listing.kvs)
    objects = []
    for kv in kvs:
        try:
            stored = Stored(kind, decode(kind, kv), to_manifest(kind, kv))
        except Undecodable as error:
            problems.append(f"error: {error}")
            continue
        if is_selected(stored, matches, fields):
            objects.append(stored)
    if kind is EVENT:
        objects.sort(key=lambda each: getattr(each.object, "last_seen", ""))
    return Found(kind, tuple(objects), tuple(problems), revision)


def is_selected(
    stored: Stored, matches: Callable[[Mapping[str, str]], bool] | None, fields: FieldSelector | None
) -> bool:
    """Do its labels and its fields match, as far as they were asked for?"""
    return (matches is None or matches(stored.object.labels)) and (fields is None or fields.matches(stored.manifest))


def not_found(kind: Kind, name: str) -> str:
    """kubectl's line for a name that there isn't."""
    return f'{NOT_FOUND}: {kind.qualified_plural} "{name}" not found'


def lines(found: Found, *, now: float, wide: bool, namespaces: bool, headers: bool = True, prefixed: bool) -> list[str]:
    """The table of what was found.

    Args:
        now: Seconds since 1970.
        prefixed: Name each object with its kind, for several tables in a row.
    """
    shown = columns(found.kind, wide=wide, namespaces=namespaces)
    before = f"{found.kind.qualified}/" if prefixed else ""
    rows = []
    for stored in found.objects:
        row = Row(stored.object, stored.manifest, now)
        rows.append([f"{before if name == 'NAME' else ''}{cell(row)}" for name, cell in shown])
    return table([name for name, _ in shown], rows, with_headers=headers)


def document(found: Sequence[Found], *, single: bool) -> dict[str, Any]:
    """The objects for machines: one object if one was named, else a `v1 List`."""
    objects = [stored.manifest for each in found for stored in each.objects]
    if single:
        return objects[0]
    revision = max(each.revision for each in found)
    return {
        "apiVersion": "v1",
        "kind": "List",
        "metadata": {"resourceVersion": str(revision) if revision else ""},
        "items": objects,
    }
