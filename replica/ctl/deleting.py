"""Deleting objects, each by compare-and-swap on what was seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lockd.errors import LockdError
from replica.api.keys import object_key
from replica.ctl.getting import find
from replica.ctl.store import Change, batches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockd.ports import KeyValue
    from replica.api.kinds import Kind
    from replica.ctl.store import ObjectStore, Outcome
    from replica.ctl.targets import Selection

ATTEMPTS: Final = 10


@dataclass(frozen=True, slots=True)
class Victim:
    """An object to delete: which, and as it was seen; None when there is none."""

    kind: Kind
    name: str
    namespace: str
    key: str
    seen: KeyValue | None


def names_of(store: ObjectStore, selection: Selection, namespace: str) -> list[tuple[Kind, str, str]]:
    """Kind, name and namespace of each object that a selection names, or that its labels select.

    Raises:
        StoreError: etcd didn't answer, or refused.
    """
    names: list[tuple[Kind, str, str]] = []
    for target in selection.targets:
        if target.names:
            names += [(target.kind, name, namespace if target.kind.namespaced else "") for name in target.names]
        else:
            found = find(store, target, namespace, selection.matches, selection.fields)
            names += [(target.kind, each.object.name, each.object.namespace) for each in found.objects]
    return names


def look(store: ObjectStore, names: Sequence[tuple[Kind, str, str]]) -> list[Victim]:
    """The objects (kind, name, namespace) as they stand.

    Raises:
        StoreError: etcd didn't answer, or refused.
    """
    keys = [object_key(store.prefix, kind, name, namespace) for kind, name, namespace in names]
    return [
        Victim(kind, name, namespace, key, seen)
        for (kind, name, namespace), key, seen in zip(names, keys, store.read(keys), strict=True)
    ]


def delete(store: ObjectStore, victims: Sequence[Victim]) -> Iterator[Victim]:
    """Delete what is there of the victims; yields each, in their order, once it is gone.

    An object that changed since it was seen is deleted all the same; one that was replaced by a new one of its name
    is gone, and the new one stays.

    Raises:
        StoreError: etcd didn't answer, or refused. What was yielded before is done.
    """
    present = [victim for victim in victims if victim.seen is not None]
    todo = iter(present)
    for batch in batches(_change(victim.key, victim.seen) for victim in present if victim.seen is not None):
        for outcome in store.write(batch):
            victim = next(todo)
            _finish(store, victim, outcome)
            yield victim


def _finish(store: ObjectStore, victim: Victim, outcome: Outcome) -> None:
    created = victim.seen.create_revision if victim.seen is not None else 0
    for _ in range(ATTEMPTS):
        found = outcome.found
        if outcome.applied or found is None or found.create_revision != created:
            return
        (outcome,) = store.write([_change(victim.key, found)])
    name = f"{victim.kind.qualified}/{victim.name}"
    raise LockdError(f"{name}: it changed {ATTEMPTS} times while it was being deleted: try again")


def _change(key: str, seen: KeyValue) -> Change:
    return Change(key, seen.mod_revision, None)
