"""Applying manifests: everything is checked, and everything in etcd looked at, before the first write."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, cast

from lockd.errors import LockdError
from replica.api.codec import Undecodable, decode, stored_uid
from replica.api.drafts import Conflict
from replica.api.keys import object_key
from replica.api.kinds import POD, PRIORITY_CLASS
from replica.api.podspec import PREEMPT_LOWER
from replica.api.priority import Classes, NoSuchClass, OtherPriority, PriorityClass
from replica.ctl.store import Change, batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lockd.ports import KeyValue
    from replica.api.drafts import Draft
    from replica.ctl.store import ObjectStore, Outcome

_REFUSALS: Final = (Conflict, NoSuchClass, OtherPriority, Undecodable)
"""What keeps a single object from being applied."""

CREATED, CONFIGURED, UNCHANGED = "created", "configured", "unchanged"

ATTEMPTS: Final = 10
"""Compare-and-swaps on one object before giving up; each failure means that somebody else changed it."""


class Refused(LockdError):
    """Objects that can't be applied as they stand.

    Attributes:
        problems: Each one line that names the object.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Step:
    """One object on its way: what is to be written over what was seen, and what that is called."""

    draft: Draft
    key: str
    verdict: str
    uid: str = ""
    seen: KeyValue | None = None
    value: bytes | None = None

    @property
    def change(self) -> Change:
        return Change(self.key, self.seen.mod_revision if self.seen is not None else 0, self.value)


class Applier:
    """Applies drafts to a store.

    Args:
        new_uid: Gives a uid for each new object.
        now: RFC 3339, the time of creation of new objects.
    """

    def __init__(self, store: ObjectStore, *, new_uid: Callable[[], str], now: str) -> None:
        self._store = store
        self._new_uid = new_uid
        self._now = now
        self._classes = Classes()

    def plan(self, drafts: Sequence[Draft]) -> tuple[Step, ...]:
        """What is to be done for each draft, in their order.

        Raises:
            Refused: With every object that can't be applied.
            StoreError: etcd didn't answer.
        """
        if any(each.kind in {POD, PRIORITY_CLASS} for each in drafts):
            self._classes = self._read_classes(drafts)
        keys = [object_key(self._store.prefix, each.kind, each.name, each.namespace) for each in drafts]
        steps, problems = [], []
        for draft, key, seen in zip(drafts, keys, self._store.read(keys), strict=True):
            try:
                steps.append(self._step(draft, key, seen))
            except _REFUSALS as error:
                problems.append(_problem(draft, error))
        if problems:
            raise Refused(problems)
        return tuple(steps)

    def run(self, steps: Sequence[Step]) -> Iterator[Step]:
        """Write what a plan says; yields each step, in their order, once it is done.

        Raises:
            Refused: Somebody else changed an object in the meantime so that it can't be applied any more.
            StoreError: etcd didn't answer, or refused. What was yielded before is done.
        """
        todo = iter(steps)
        for batch in batches(step.change for step in steps if step.value is not None):
            outcomes = self._store.write(batch)
            for outcome in outcomes:
                for step in todo:
                    if step.value is not None:
                        yield self._settled(step, outcome)
                        break
                    yield step
        yield from todo

    def _settled(self, step: Step, outcome: Outcome) -> Step:
        """A step done: at once, or after compare-and-swaps on what others made of the object."""
        for _ in range(ATTEMPTS):
            if outcome.applied:
                return step
            try:
                if _is_mine(step, outcome.found):
                    return step
                again = self._step(step.draft, step.key, outcome.found)
            except _REFUSALS as error:
                raise Refused((_problem(step.draft, error),)) from error
            if again.value is None:
                return replace(step, verdict=CONFIGURED if step.seen is not None else UNCHANGED)
            step = again
            (outcome,) = self._store.write([step.change])
        raise Refused((f"{_name(step.draft)}: it changed {ATTEMPTS} times while it was being applied: try again",))

    def _read_classes(self, drafts: Sequence[Draft]) -> Classes:
        """The priority classes as they will be: those that there are, and those about to be applied."""
        found = Classes()
        for kv in self._store.every(PRIORITY_CLASS, "").kvs:
            try:
                found.put(cast("PriorityClass", decode(PRIORITY_CLASS, kv)))
            except Undecodable as error:
                raise Refused((str(error),)) from error
        for draft in drafts:
            if draft.kind is PRIORITY_CLASS:
                made = _class(draft)
                _check_class(draft, made, found)
                found.put(made)
        return found

    def _step(self, draft: Draft, key: str, seen: KeyValue | None) -> Step:
        settled = draft.prioritized(self._classes, seen)
        if seen is None:
            uid = self._new_uid()
            return Step(draft, key, CREATED, uid, None, settled.created(uid=uid, at=self._now))
        value = settled.updated(seen)
        return Step(draft, key, UNCHANGED if value is None else CONFIGURED, "", seen, value)


def _class(draft: Draft) -> PriorityClass:
    document = draft.document
    return PriorityClass(
        name=draft.name,
        value=document["value"],
        default=bool(document.get("globalDefault")),
        preemption=document.get("preemptionPolicy") or PREEMPT_LOWER,
    )


def _check_class(draft: Draft, made: PriorityClass, classes: Classes) -> None:
    """A class's number and policy stay: pods have them already. And one class at most is the default.

    Raises:
        Refused: It is another class than the one of its name, or a second default.
    """
    before, default = classes.get(made.name), classes.default
    if before is not None and (before.value, before.preemption) != (made.value, made.preemption):
        was = f"value {before.value} and preemptionPolicy {before.preemption}"
        raise Refused((_problem(draft, Conflict(f"it has {was}, which can't change: delete the class first")),))
    if made.default and default is not None and default.name != made.name:
        problem = Conflict(f"globalDefault: {default.name} is the default already: only one class can be")
        raise Refused((_problem(draft, problem),))


def _is_mine(step: Step, found: KeyValue | None) -> bool:
    """Was it an earlier copy of this very write that made what stands there?"""
    if found is None:
        return False
    if found.value == step.value:
        return True
    # A new object carries a uid that nobody else knows, also after others have changed it.
    return step.seen is None and stored_uid(found) == step.uid


def _problem(draft: Draft, error: LockdError) -> str:
    return f"{draft.source}: {_name(draft)}: {error}"


def _name(draft: Draft) -> str:
    return f"{draft.kind.qualified}/{draft.name}"
