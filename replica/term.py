"""The work of one term: "became leader", barrier, cycles, and an end in order."""

from __future__ import annotations

import queue
import threading
from collections import deque
from typing import TYPE_CHECKING, Final

from component import logs, tracing
from component.clock import LONGEST_WAIT
from component.lifecycle import Group
from lockd.errors import Fenced, LeaseNotFound, StoreError
from replica.binder import Binder
from replica.binding import MOST_PODS
from replica.cache.members import group_of
from replica.cycle import SchedulingCycle
from replica.gangs import Gangs
from replica.outcomes import Outcomes
from replica.preemption.evictions import Evictions
from replica.preemption.preemptor import Preemptor
from replica.preemption.reaper import Reaper
from replica.statuses import StatusWriter
from replica.takeover import Takeover
from replica.writer import TermWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replica.attempts import Cycle
    from replica.binding import Group as BindGroup
    from replica.binding import Verdict
    from replica.events.term import TermEvents
    from replica.parts import Leadership, Parts, Settings
    from replica.queue.pod import QueuedPod
    from replica.scheduler_metrics import SchedulerMetrics

_log = logs.get(__name__)

BATCH: Final = MOST_PODS
"""Pods taken from the queue at once: as many as go into one transaction."""

HOLD_BACK: Final = 0.04
"""Seconds after which pods that have their places go to the binder, though others of their batch have none yet."""

MOST_BINDING: Final = 2000
"""Pods with the binder at once: beyond that, places would be given to pods that can't be bound yet."""

IDLE_POLL: Final = 0.05
"""Seconds between two looks at whether the term goes on, while there is nothing to do."""

JOIN: Final = 1.0
"""Seconds that the term's threads get to end."""


class TermWork:
    """One term."""

    def __init__(
        self, parts: Parts, settings: Settings, leadership: Leadership, metrics: SchedulerMetrics, events: TermEvents
    ) -> None:
        self._parts = parts
        self._settings = settings
        self._leadership = leadership
        self._events = events
        self._clock = parts.clock
        self._takeover = Takeover(parts.lock.name, leadership.takeover, parts.clock)
        self._group = Group("scheduling", clock=parts.clock)
        self._over = threading.Event()
        self._room = threading.Event()
        self._binds_settled = threading.Event()
        self._binds_settled.set()
        self._slow: queue.SimpleQueue[Cycle | None] = queue.SimpleQueue()
        # Several writers, so that a pod's status doesn't wait for events, nor a preemption for statuses.
        self._write_events = self._writer().write
        self._statuses = StatusWriter(
            self._writer().write, prefix=parts.lock.prefix, token=leadership.token, clock=parts.clock
        )
        self._preemptor = Preemptor(
            nominator=parts.queue.nominator,
            budgets=parts.budgets,
            waiting=parts.waiting,
            statuses=self._statuses,
            priority=lambda pod: parts.classes.priority(pod.spec),
            assumed=parts.assumed.is_assumed,
        )
        self._evictions = Evictions(
            self._writer().write_groups,
            lambda txn: parts.settle(txn, leadership.lost),
            prefix=parts.lock.prefix,
            events=events,
            leases=parts.leases,
            recorder=parts.recorder,
            applied=parts.applied,
            owner=self._preemptor,
            clock=parts.clock,
        )
        self._preemptor.writer = self._evictions
        self._reaper = Reaper(
            parts.departing,
            self._writer().write,
            prefix=parts.lock.prefix,
            events=events,
            leases=parts.leases,
            recorder=parts.recorder,
            clock=parts.clock,
        )
        self._outcomes = Outcomes(parts, self._statuses, self._preemptor, metrics)
        self._cycles = SchedulingCycle(
            parts, self._statuses, self._preemptor, self._outcomes, metrics=metrics, token=leadership.token
        )
        self._gangs = Gangs(parts, self._cycles, self._outcomes, self._ticks)
        self._binder = Binder(
            parts.sender,
            leadership,
            clock=parts.clock,
            judged=self._judged,
            attempt=settings.attempt,
            patience=settings.patience,
        )

    def _writer(self) -> TermWriter:
        return TermWriter(self._leadership, self._parts.settle, clock=self._clock)

    @property
    def under_way(self) -> tuple[int, int]:
        """How many pods are being bound, and of how many the status is being written."""
        return self._binder.busy, self._statuses.waiting

    def run(self) -> None:
        """Do it all; see `Scheduler.run`."""
        parts = self._parts
        self._leadership.draining.on_set(self._end)
        self._leadership.lost.on_set(self._end)
        try:
            self._announce()
            if not self._pass_barrier():
                return
            parts.assumed.clear()
            parts.stories.lead(self._leadership.traceparent, int(self._leadership.token), self._clock)
            parts.waiting.resolved = self._cycles.resolve
            parts.extenders.lead(self._leadership.guard, self._ticks_until)
            self._binds_settled.clear()
            self._group.spawn("binder", self._settle_binds)
            self._group.spawn("statuses", self._statuses.run, self._group.stop)
            self._group.spawn("evictions", self._evictions.run, self._group.stop)
            self._group.spawn("reaper", self._reaper.run, self._group.stop)
            if not all(runtime.binds_at_once for runtime in parts.profiles.values()):
                for number in range(self._settings.binding_threads):
                    self._group.spawn(f"pre-bind-{number}", self._bind_slowly)
            self._schedule()
        finally:
            self._leave()
            parts.stories.follow()
        if self._group.failure is not None:
            raise self._group.failure

    # --- the beginning

    def _announce(self) -> None:
        """Write that this replica became leader, before anything else; events go under this term from now on."""
        event = self._parts.recorder.became_leader(self._parts.lock)
        leases = self._parts.leases
        try:
            lease = leases.at_hand()
            try:
                self._write_events([self._events.write(event, lease)])
            except LeaseNotFound:
                leases.forget(lease)
                self._write_events([self._events.write(event, leases.current())])
        except Fenced:
            return
        except StoreError as error:
            _log.warning("event not written", reason=event.reason, error=error)
        self._parts.sink.lead(self._events, self._write_events)

    def _pass_barrier(self) -> bool:
        """Wait until every cache has seen what the predecessor did; False when the term is to end instead."""
        token, began, wall = self._leadership.token, self._clock.now(), self._clock.wall()
        end, reopen = began + self._settings.barrier, began + self._settings.reopen
        self._leadership.tick(until=end + LONGEST_WAIT)
        passed = False
        while self._goes_on() and (now := self._clock.now()) < end:
            if now >= reopen:
                _log.warning("caches behind the term: watching anew", token=int(token), applied=self._parts.applied())
                self._parts.reopen_watch()
                reopen = end
            passed = self._parts.wait_for_barrier(token, self._over, min(IDLE_POLL, end - now))
            if passed:
                break
        seconds = self._clock.now() - began
        tracing.emit(
            "scheduler.cache_barrier",
            start=wall,
            end=wall + seconds,
            links=[(self._leadership.traceparent, {"link.kind": "leadership_term"})],
            attributes={"token": int(token), "passed": passed},
        )
        if passed:
            self._takeover.warm(waited_for=self._parts.queue.pending()["active"] > 0)
            _log.info("caches have caught up", token=int(token), seconds=round(seconds, 6))
        elif self._goes_on():
            _log.error("caches did not catch up: giving up the term", token=int(token), seconds=self._settings.barrier)
        return passed and self._goes_on()

    # --- the middle

    def _goes_on(self) -> bool:
        leadership = self._leadership
        if leadership.draining.is_set() or self._group.stop.is_set():
            return False
        return leadership.holds(self._clock.now())

    def _schedule(self) -> None:
        parts = self._parts
        self._place(self._gangs.begun())
        while self._goes_on():
            self._leadership.tick()
            self._outcomes.let_go(parts.applied)
            parts.waiting.expire(self._clock.now())
            self._gangs.expire(self._clock.now())
            self._gangs.tell(self._clock.now())
            for cycle in self._cycles.resolved():
                self._bind(self._go(cycle))
            if self._binder.busy >= MOST_BINDING:
                self._room.clear()
                if self._binder.busy >= MOST_BINDING:
                    self._clock.wait(self._room, IDLE_POLL)
                continue
            self._place(parts.queue.pop_batch(BATCH, self._over, IDLE_POLL))

    def _ticks_until(self, seconds: float) -> None:
        """The next step may take so long, and the loop isn't stuck for that."""
        self._leadership.tick(until=self._clock.now() + seconds + LONGEST_WAIT)

    def _ticks(self) -> bool:
        """Goes on, and says so."""
        self._leadership.tick()
        return self._goes_on()

    def _place(self, batch: Sequence[QueuedPod]) -> None:
        """Take a batch of pods through their cycles, and hand over those that got a place."""
        ready: list[BindGroup] = []
        since = 0.0
        left = deque(batch)
        while left:
            if not self._ticks():
                for queued in left:
                    self._parts.queue.requeue(queued)
                break
            groups = self._place_next(left)
            if not groups:
                continue
            now = self._clock.now()
            since = since if ready else now
            ready += groups
            if now - since > HOLD_BACK:
                self._binder.submit(ready)
                ready = []
        self._bind(ready)

    def _place_next(self, left: deque[QueuedPod]) -> Sequence[BindGroup]:
        """Take the next pod through its cycle, and all of its gang with it."""
        queued = left.popleft()
        gang = self._gangs.of(queued)
        if gang is None:
            cycle = self._cycles.run(queued)
            return () if cycle is None else self._go(cycle)
        taken = [queued]
        for other in tuple(left):
            if group_of(other.pod) == gang.key:
                left.remove(other)
                taken.append(other)
        cycles = self._gangs.place(gang, self._gangs.rest(gang, taken))
        return [group for cycle in cycles for group in self._go(cycle)]

    def _go(self, cycle: Cycle) -> Sequence[BindGroup]:
        """Begin a pod's binding cycle: here, or on another thread if plugins may take their time."""
        if not cycle.runtime.binds_at_once:
            self._slow.put(cycle)
            return ()
        binding = self._cycles.prepare(cycle)
        return () if binding is None else self._gangs.ready(cycle, binding)

    def _bind(self, groups: Sequence[BindGroup]) -> None:
        if groups:
            self._binder.submit(groups)

    def _bind_slowly(self) -> None:
        """A thread for binding cycles that may block."""
        while not self._group.stop.is_set():
            cycle = self._slow.get()
            if cycle is None:
                return
            binding = self._cycles.prepare(cycle)
            if binding is not None:
                self._bind(self._gangs.ready(cycle, binding))

    def _settle_binds(self) -> None:
        try:
            self._binder.run()
        finally:
            self._binds_settled.set()

    def _judged(self, verdicts: Sequence[Verdict]) -> None:
        self._outcomes.judged(verdicts)
        self._takeover.judged(verdicts)
        self._bind(self._gangs.follow(verdicts))
        self._room.set()

    # --- the end

    def _end(self) -> None:
        """Wake the loop, whatever it waits for: a standby waits for the release that follows."""
        self._over.set()
        self._room.set()
        self._parts.extenders.lead(None)
        self._parts.queue.wake()

    def _leave(self) -> None:
        """Reject who waits, settle what is in flight if the term still holds, and end the threads."""
        parts, leadership = self._parts, self._leadership
        now = self._clock.now()
        drain = self._settings.drain if leadership.holds(now) else 0.0
        leadership.tick(until=now + drain + JOIN + LONGEST_WAIT)
        parts.extenders.lead(None)
        parts.waiting.reject_all("the scheduler stops leading")
        self._cycles.abandon()
        self._binder.drain(now + drain)
        self._clock.wait(self._binds_settled, drain + JOIN)
        parts.sink.follow()
        self._group.request_stop()
        self._statuses.wake()
        self._evictions.wake()
        for _ in range(self._settings.binding_threads):
            self._slow.put(None)
        if late := self._group.join(JOIN):
            _log.warning("threads of the term have not ended", threads=", ".join(late))
        self._abandon_slow()
        self._gangs.abandon()

    def _abandon_slow(self) -> None:
        """Give up the places of pods that were still to be prepared on another thread."""
        try:
            while True:
                if (cycle := self._slow.get_nowait()) is not None:
                    self._outcomes.abandon(cycle)
        except queue.Empty:
            return
