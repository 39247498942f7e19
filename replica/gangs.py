"""Gangs: all of a gang's pods that wait are taken up together, and either enough of them get places or none does.

No gang ever holds places while it waits for more of them: so two gangs that each need most of the cluster can't hold
each other up. A gang that one transaction takes is bound by one; a larger one by several, one after the other, and what
is bound of it counts when it is tried again.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from component import logs
from replica.attempts import Cycle, Miss, Party
from replica.binding import parcels
from replica.framework.diagnosis import Diagnosis
from replica.framework.status import PluginFailed, unschedulable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from replica.binding import Binding, Verdict
    from replica.binding import Group as BindGroup
    from replica.cache.members import Count
    from replica.cycle import SchedulingCycle
    from replica.framework.gang import Gang
    from replica.outcomes import Outcomes
    from replica.parts import Parts
    from replica.queue.pod import QueuedPod

_log = logs.get(__name__)

TOLD_AFTER: Final = 5.0
"""Seconds after which the pods of a gang that isn't all there are told what they wait for."""

LOOK: Final = 1.0
"""Seconds between two looks for such gangs."""


class Gangs:
    """The gangs of one term. Places are given on the scheduling thread; binds come from the threads that prepare them.

    Args:
        goes_on: Ticks, and says whether the term goes on.
    """

    def __init__(self, parts: Parts, cycles: SchedulingCycle, outcomes: Outcomes, goes_on: Callable[[], bool]) -> None:
        self._members = parts.members
        self._queue = parts.queue
        self._clock = parts.clock
        self._cycles = cycles
        self._outcomes = outcomes
        self._goes_on = goes_on
        self._gathering: list[Party] = []
        self._looked = 0.0
        self._incomplete: dict[str, tuple[Count, float]] = {}
        """Gangs that aren't all there: as they were last, and since when."""
        self._lock = threading.Lock()
        self._following: dict[str, tuple[Party, list[BindGroup]]] = {}
        """The last pod of a parcel that is with the binder -> the parcels that follow it."""

    # --- those that wait for others

    def tell(self, now: float) -> None:
        """Tell the pods that are kept back until their gang is there, once nothing has come of it for a while."""
        if now < self._looked + LOOK:
            return
        self._looked = now
        incomplete: dict[str, tuple[Count, float]] = {}
        for key in self._members.waiting():
            count = self._members.count(key)
            known = self._incomplete.get(key)
            since = known[1] if known is not None and known[0] == count else now
            incomplete[key] = (count, since)
            if now - since >= TOLD_AFTER:
                self._tell(key, count)
        self._incomplete = incomplete

    def _tell(self, key: str, count: Count) -> None:
        for path in self._members.paths(key):
            queued = self._queue.get(path)
            if queued is None or not queued.gated_by:
                return  # it is there, and waits for its turn or for room
            self._outcomes.waits(queued, self._waits_for(key, queued, count))

    def _waits_for(self, key: str, queued: QueuedPod, count: Count) -> str:
        gang = self.of(queued)
        if gang is None:
            return f"pod group {key} not found"
        return f"pod group {key}: {count.present} of the {gang.least} pods that must run are there"

    # --- places

    def of(self, queued: QueuedPod) -> Gang | None:
        """The gang that a pod is of; None where it is scheduled by itself."""
        try:
            return self._cycles.gang(queued)
        except PluginFailed as error:
            _log.error("plugin failed", plugin=error.plugin, point=error.point, pod=queued.pod.path, error=error.reason)
            return None

    def begun(self) -> list[QueuedPod]:
        """What waits of the gangs of which too few are bound: a new leader takes it up first."""
        found: list[QueuedPod] = []
        for key in self._members.begun():
            waiting = self._queue.take(self._members.paths(key))
            gang = self.of(waiting[0]) if waiting else None
            if gang is not None and self._members.count(key).bound < gang.least:
                _log.info("completing a pod group", group=key, waiting=len(waiting))
                found += waiting
                continue
            for queued in waiting:
                self._queue.requeue(queued)
        return found

    def rest(self, gang: Gang, taken: Iterable[QueuedPod]) -> list[QueuedPod]:
        """What waits of a gang, with those of it that were taken from the queue already."""
        return [*taken, *self._queue.take(self._members.paths(gang.key))]

    def place(self, gang: Gang, members: Sequence[QueuedPod]) -> list[Cycle]:
        """Give places to as many of a gang's pods as there is room for, if that is enough.

        Returns:
            Those whose binding cycle is to begin now.
        """
        before = self._members.count(gang.key)
        placed: list[Cycle] = []
        missed: list[Miss] = []
        for number, queued in enumerate(members):
            left = len(members) - number
            if before.bound + len(placed) + left < gang.least or not self._goes_on():
                missed += [Miss(cycle) for each in members[number:] if (cycle := self._cycles.begin(each)) is not None]
                break
            cycle = self._cycles.begin(queued)
            if cycle is None:
                continue
            miss = self._seek(cycle)
            if miss is None:
                placed.append(cycle)
            else:
                missed.append(miss)
        if before.bound + len(placed) < gang.least:
            self._refuse(gang, before.bound, placed, missed)
            if self._members.count(gang.key) != before:
                self._queue.reconsider(self._members.paths(gang.key), gang.plugin)
            return []
        for miss in missed:
            self._cycles.settle(miss)
        party = Party.of(gang, placed, self._clock.now() + gang.timeout)
        self._gathering.append(party)
        return [cycle for cycle in placed if self._cycles.permit(cycle)]

    def _seek(self, cycle: Cycle) -> Miss | None:
        found = self._cycles.place(cycle, self._cycles.nodes())
        if isinstance(found, Diagnosis):
            return Miss(cycle, found.message, found.plugins)
        return found or self._cycles.reserve(cycle)

    def _refuse(self, gang: Gang, bound: int, placed: Sequence[Cycle], missed: Sequence[Miss]) -> None:
        """Too few of them got places: give them all back before anybody is told, then tell each of them why."""
        for cycle in placed:
            self._outcomes.undone(cycle)
        if not self._goes_on():
            for cycle in (*placed, *(miss.cycle for miss in missed)):
                self._queue.requeue(cycle.queued)
            return
        told = [miss for miss in missed if miss.message]
        plugins = frozenset({gang.plugin}).union(*(miss.plugins for miss in told))
        reasons = dict.fromkeys(miss.message for miss in told)
        message = (
            f"pod group {gang.key}: {bound + len(placed)} of the {gang.least} pods that must run have a place"
            f"{': ' if reasons else ''}{'; '.join(reasons)}"
        )
        broken = any(miss.error for miss in missed)
        waits = not told and len(placed) + len(missed) + bound >= gang.least  # for a write of a status to end
        for cycle in (*placed, *(miss.cycle for miss in missed)):
            self._cycles.settle(Miss(cycle, "" if waits else message, frozenset() if waits else plugins, error=broken))

    # --- from places to binds

    def ready(self, cycle: Cycle, binding: Binding) -> Sequence[BindGroup]:
        """A pod may be bound: what goes to the binder now."""
        party = cycle.party
        if party is None:
            return ((binding,),)
        bindings = party.ready(cycle, binding)
        if bindings is None:
            self._cycles.reject(
                cycle, unschedulable(f"pod group {party.gang.key} was called off").by(party.gang.plugin)
            )
            return ()
        if not bindings:
            return ()
        first, *others = parcels(bindings)
        if others:
            with self._lock:
                self._following[first[-1].pod.uid] = (party, others)
        return (first,)

    def follow(self, verdicts: Iterable[Verdict]) -> list[BindGroup]:
        """Of larger gangs, what goes to the binder after these verdicts; what was to follow a failure is given up."""
        found: list[BindGroup] = []
        for verdict in verdicts if self._following else ():
            with self._lock:
                party, parcels_left = self._following.pop(verdict.binding.pod.uid, (None, []))
            if party is None:
                continue
            if not verdict.stands:
                for cycle in self._give_up(party, parcels_left):
                    self._outcomes.freed(cycle)
                continue
            first, *others = parcels_left
            if others:
                with self._lock:
                    self._following[first[-1].pod.uid] = (party, others)
            found.append(first)
        return found

    def expire(self, now: float) -> None:
        """Call off the gangs that took too long to get from their places to the binder."""
        if not self._gathering:
            return
        self._gathering = [party for party in self._gathering if not party.settled]
        for party in self._gathering:
            if party.deadline <= now:
                reason = f"pod group {party.gang.key}: not all pods were permitted within {party.gang.timeout:g} s"
                self._cycles.break_up(party, unschedulable(reason).by(party.gang.plugin))

    def abandon(self) -> None:
        """The term ends: what was not handed over is left to whoever leads next."""
        for party in self._gathering:
            for cycle in party.break_up():
                self._outcomes.abandon(cycle)
        with self._lock:
            following, self._following = dict(self._following), {}
        for party, left in following.values():
            self._give_up(party, left)

    def _give_up(self, party: Party, left: Iterable[BindGroup]) -> list[Cycle]:
        cycles = {cycle.pod.uid: cycle for cycle in party.members}
        given_up = [cycles[binding.pod.uid] for group in left for binding in group]
        for cycle in given_up:
            self._outcomes.abandon(cycle)
        return given_up
