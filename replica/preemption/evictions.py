"""Preemptions carried out: the promise and the victims' deletion, written as one or not at all."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from component import logs
from component.clock import LONGEST_WAIT
from lockd.errors import Fenced, LeaseNotFound, StoreError
from lockd.ports import Get, GetReply, Txn
from replica.api.keys import object_key
from replica.api.kinds import POD
from replica.binding import OPERATIONS
from replica.preemption.plan import BYTES, Plan, Planner, Preemption, stands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from component.clock import Clock
    from lockd.fencing import GuardedReply, ObjectWrite, WriteResult
    from lockd.ports import KeyValue, TxnReply
    from replica.api.pods import Pod
    from replica.events.leases import EventLeases
    from replica.events.recorder import Recorder
    from replica.events.term import TermEvents

_log = logs.get(__name__)

READ: Final = 100
"""Pods read by one transaction."""

ATTEMPTS: Final = 10
"""Writes of one preemption, each of which met other objects than were read, before it is given up."""

PAUSE: Final = 0.05
"""Seconds until a victim is looked at again that is just being bound."""


class Owner(Protocol):
    """Who is told what became of preemptions. Called from the thread that carries them out."""

    def carried_out(self, marked: Sequence[Pod], spared: Sequence[Pod]) -> None:
        """A preemption is written: it marked, or deleted, some victims; others had gone before, or stand elsewhere."""
        ...

    def called_off(self, preemption: Preemption) -> None:
        """Nothing of it was written, nor will be."""
        ...

    def is_assumed(self, uid: str) -> bool:
        """Is the pod on its way to a node?"""
        ...


class Evictions:
    """Writes what preemption decided, in one term.

    A preemption is one group of a guarded write: the preemptor's status, which promises it the node, and each victim's
    mark: `deletionTimestamp` at the end of its grace period, and the condition `DisruptionTarget`. So no pod goes for
    nothing, whenever the leader dies. A victim without a grace period is deleted by it. What was read before the
    write and has changed since is read again.

    Args:
        write: Makes guarded writes of groups and settles them (`TermWriter.write_groups`).
        read: Makes transactions that only read.
    """

    def __init__(
        self,
        write: Callable[[Sequence[tuple[ObjectWrite, ...]]], GuardedReply],
        read: Callable[[Txn], TxnReply],
        *,
        prefix: str,
        events: TermEvents,
        leases: EventLeases,
        recorder: Recorder,
        applied: Callable[[], int],
        owner: Owner,
        clock: Clock,
    ) -> None:
        self._write = write
        self._read = read
        self._prefix = prefix
        self._leases = leases
        self._recorder = recorder
        self._applied = applied
        self._owner = owner
        self._clock = clock
        self._planner = Planner(
            token=events.token,
            recorder=recorder,
            rider=lambda event: events.put(event, leases.current()),
            is_assumed=owner.is_assumed,
            clock=clock,
        )
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._wishes: dict[str, Preemption] = {}
        self._unsettled: frozenset[str] = frozenset()
        self._written: dict[str, int] = {}

    # --- what the scheduling cycle says and asks

    def ask(self, preemption: Preemption) -> None:
        """Have it carried out."""
        with self._lock:
            self._wishes[preemption.pod.uid] = preemption
            self._changed.notify()

    def withdraw(self, uid: str) -> bool:
        """A pod is about to be bound: what waits to be done for it isn't needed.

        Returns:
            False when a write is on its way: it may change the revision that the bind compares.
        """
        with self._lock:
            if uid in self._unsettled:
                return False
            wish = self._wishes.pop(uid, None)
        if wish is not None:
            self._owner.called_off(wish)
        return True

    def pending(self, uid: str) -> bool:
        """Is room being made for a pod that the cache doesn't show yet?"""
        with self._lock:
            if uid in self._wishes or uid in self._unsettled:
                return True
            revision = self._written.get(uid)
            if revision is None:
                return False
            if revision > self._applied():
                return True
            del self._written[uid]
            return False

    def run(self, stop: threading.Event) -> None:
        """Carry out what is asked for until stopped or the term is over."""
        try:
            while not stop.is_set():
                if not self.flush(LONGEST_WAIT / 4) and self._wishes:
                    self._clock.wait(stop, PAUSE)
        except Fenced:
            return
        finally:
            self._leave()

    def wake(self) -> None:
        """Have `run` look at its stop event now."""
        with self._lock:
            self._changed.notify_all()

    # --- its own thread

    def flush(self, wait: float) -> int:
        """Carry out what one transaction holds, waiting up to `wait` seconds for something to do.

        Returns:
            How many preemptions were settled.

        Raises:
            Fenced: The term is over.
        """
        taken = self._take(wait)
        if not taken:
            return 0
        settled = 0
        try:
            settled = self._carry_out(taken)
        except Fenced:
            for each in taken:
                self._owner.called_off(each)
            raise
        except LeaseNotFound:
            self._leases.forget(self._leases.at_hand())
            self._back(taken)
        except StoreError as error:
            # Their pods fail again, and then it is decided anew.
            _log.warning("preemptions not written", preemptions=len(taken), error=error)
            for each in taken:
                self._owner.called_off(each)
            settled = len(taken)
        finally:
            with self._lock:
                self._unsettled = frozenset()
        return settled

    def _take(self, wait: float) -> list[Preemption]:
        """What one transaction holds, marked as on its way."""
        with self._lock:
            if not self._wishes and wait > 0:
                self._changed.wait(wait)
            taken: list[Preemption] = []
            objects = 0
            for uid, wish in list(self._wishes.items()):
                objects += 1 + len(wish.victims)
                if taken and objects > READ:
                    break
                taken.append(self._wishes.pop(uid))
            self._unsettled = frozenset(each.pod.uid for each in taken)
            return taken

    def _carry_out(self, taken: Sequence[Preemption]) -> int:
        objects = self._objects({pod.path: pod for each in taken for pod in (each.pod, *each.victims)}.values())
        plans: list[Plan] = []
        settled = 0
        for each in taken:
            plan = self._planner.plan(each, objects)
            if plan is None:
                self._owner.called_off(each)
                settled += 1
            elif not plan.group and plan.left is not None:
                self._back((plan.left,))  # all that is left to do waits for binds that are on their way
            elif _go_together((*plans, plan)):
                plans.append(plan)
            else:
                self._back((each,))
        if plans:
            reply = self._write([plan.group for plan in plans])
            for plan, result in zip(plans, reply.results, strict=True):
                settled += self._settle(plan, result, reply.revision)
        return settled

    def _objects(self, pods: Iterable[Pod]) -> Mapping[str, KeyValue | None]:
        """The pods as they stand in etcd, by path.

        Raises:
            StoreError: They can't be read.
        """
        wanted = list(pods)
        found: dict[str, KeyValue | None] = {}
        for first in range(0, len(wanted), READ):
            part = wanted[first : first + READ]
            reply = self._read(Txn((), tuple(Get(self._key(pod)) for pod in part)))
            for pod, each in zip(part, reply.replies, strict=True):
                found[pod.path] = each.kv if isinstance(each, GetReply) else None
        return found

    def _settle(self, plan: Plan, result: WriteResult, revision: int) -> int:
        """Take in what became of one; 1 if that is all."""
        preemption = plan.preemption
        if not result.applied and not stands(plan.group, result.objects):
            if preemption.attempts + 1 < ATTEMPTS:
                self._back((replace(preemption, attempts=preemption.attempts + 1),))
                return 0
            _log.warning("preemption given up: its pods change too often", pod=preemption.pod.path)
            self._owner.called_off(preemption)
            return 1
        _log.info("preempted", pod=preemption.pod.path, node=preemption.node, victims=len(plan.marked))
        applied = self._applied()
        with self._lock:
            self._written = {uid: at for uid, at in self._written.items() if at > applied}
            self._written[preemption.pod.uid] = revision
        for victim, write in zip(plan.marked, plan.group[-len(plan.marked) :], strict=False):
            if write.value is not None:
                self._recorder.publish([self._planner.told(preemption, victim)])
        self._owner.carried_out(plan.marked, plan.spared)
        if plan.left is not None:
            self._back((plan.left,))
        return 1

    def _back(self, preemptions: Sequence[Preemption]) -> None:
        """Try again, unless something else was decided meanwhile."""
        with self._lock:
            for each in preemptions:
                self._wishes.setdefault(each.pod.uid, each)

    def _leave(self) -> None:
        with self._lock:
            left = list(self._wishes.values())
            self._wishes.clear()
        for each in left:
            self._owner.called_off(each)

    def _key(self, pod: Pod) -> str:
        return object_key(self._prefix, POD, pod.name, pod.namespace)


def _go_together(plans: Sequence[Plan]) -> bool:
    """Can one transaction hold them? One of them it can: a large preemption is made in steps."""
    if len(plans) == 1:
        return True
    keys = [write.key for plan in plans for write in plan.group]
    if len(set(keys)) < len(keys):
        return False  # etcd lets no transaction write a key twice; read again, a victim of two goes once
    objects = len(keys)
    # The else branch reads the term and every object; a nested transaction may hold what that leaves.
    return (
        1 + objects + max(plan.operations for plan in plans) <= OPERATIONS and sum(plan.size for plan in plans) <= BYTES
    )
