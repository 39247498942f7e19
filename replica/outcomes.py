"""What becomes of pods once their cycle has decided: books, queue, events, status and metrics agree on it here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from component import logs
from replica.api.events import WARNING
from replica.api.status import SCHEDULER_ERROR, UNSCHEDULABLE
from replica.binding import Fate
from replica.queue.hints import ASSIGNED_POD_DELETE
from replica.scheduler_metrics import ERROR, SCHEDULED
from replica.scheduler_metrics import UNSCHEDULABLE as REFUSED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from replica.api.events import Event
    from replica.attempts import Cycle
    from replica.binding import Verdict
    from replica.framework.disruptions import PostFilterResult
    from replica.parts import Parts
    from replica.preemption.preemptor import Preemptor
    from replica.queue.pod import QueuedPod
    from replica.scheduler_metrics import SchedulerMetrics
    from replica.statuses import StatusWriter

_log = logs.get(__name__)

FAILED: Final = "FailedScheduling"
"""The reason of the event that tells why a pod was not placed."""


class Outcomes:
    """Settles cycles, from the scheduling thread and the binder's. One for each term."""

    def __init__(self, parts: Parts, statuses: StatusWriter, preemptor: Preemptor, metrics: SchedulerMetrics) -> None:
        self._queue = parts.queue
        self._assumed = parts.assumed
        self._recorder = parts.recorder
        self._clock = parts.clock
        self._statuses = statuses
        self._preemptor = preemptor
        self._metrics = metrics
        self._stories = parts.stories
        self._binding: dict[str, Cycle] = {}
        self._refuted: dict[str, Cycle] = {}

    def binding(self, cycle: Cycle) -> None:
        """A pod has its place and goes to the binder."""
        if story := self._stories.of(cycle.pod.uid):
            story.tell("placed", node=cycle.node_name)
        self._binding[cycle.pod.uid] = cycle

    def refused(
        self,
        cycle: Cycle,
        message: str,
        plugins: Iterable[str],
        *,
        room: PostFilterResult | None = None,
    ) -> None:
        """No node can take the pod: tell its user, and let it wait for something that may help.

        Args:
            room: What PostFilter decided, where it was asked. Otherwise what was promised to the pod is taken back.
        """
        if story := self._stories.of(cycle.pod.uid):
            story.tell("refused", plugins=tuple(sorted(plugins := tuple(plugins))), message=message)
        if room is not None and room.status.ok and room.nominated_node:
            self._announce(cycle, message)
            self._preemptor.make_room(cycle.pod, room.nominated_node, room.victims, message)
        else:
            self._tell(cycle, message, UNSCHEDULABLE, "" if room is None else room.nominated_node)
        self._ended(cycle, REFUSED)
        self._queue.requeue(cycle.queued, plugins)

    def failed(self, cycle: Cycle, message: str) -> None:
        """Something is broken: tell the pod's user, and try again after a backoff."""
        if story := self._stories.of(cycle.pod.uid):
            story.tell("failed", message=message)
        self._tell(cycle, message, SCHEDULER_ERROR, "")
        self._ended(cycle, ERROR)
        self._queue.requeue(cycle.queued)

    def waits(self, queued: QueuedPod, message: str) -> None:
        """A pod is not tried yet: tell its user what it waits for, unless that has been said."""
        pod = queued.pod
        if self._statuses.say(pod, reason=UNSCHEDULABLE, message=message):
            self._recorder.event(
                pod, reason=FAILED, note=message, action="Scheduling", type=WARNING, controller=pod.spec.scheduler
            )

    def undone(self, cycle: Cycle) -> None:
        """A place that was reserved is given up, since the bind was definitely not made."""
        self._binding.pop(cycle.pod.uid, None)  # prepared, but not handed over: others of its gang were refused
        cycle.runtime.unreserve(cycle.state, cycle.pod, cycle.node_name)
        self._assumed.forget(cycle.pod.uid)

    def freed(self, cycle: Cycle) -> None:
        """Whoever was refused while a pod had the place that it lost may have it: as if the pod had been deleted.

        To be told once the pod itself has been settled, whom it doesn't help.
        """
        uid = cycle.pod.uid
        self._queue.move_all(
            ASSIGNED_POD_DELETE, old=cycle.pod.on(cycle.node_name), check=lambda other: other.uid != uid
        )

    def abandon(self, cycle: Cycle) -> None:
        """The term ends before the pod was bound: somebody else takes it up."""
        self.undone(cycle)
        self._queue.requeue(cycle.queued)

    # --- what the binder says

    def judged(self, verdicts: Sequence[Verdict]) -> None:
        """Verdicts of one batch."""
        bound: list[Cycle] = []
        for verdict in verdicts:
            cycle = self._binding.pop(verdict.binding.pod.uid)
            match verdict.fate:
                case Fate.BOUND:
                    bound.append(cycle)
                case Fate.CONFLICT:
                    self._refute(cycle, verdict)
                case Fate.TOO_LARGE:
                    self.undone(cycle)
                    # Another attempt would meet the same: it waits for a change of the pod.
                    self.refused(cycle, f"the pod is too large to be bound: {verdict.reason}", ("DefaultBinder",))
                    self.freed(cycle)
                case Fate.FENCED | Fate.NOT_SENT:
                    self.abandon(cycle)
                case Fate.UNSETTLED:
                    # Its room stays taken: it may be bound. The next term's barrier tells.
                    self._queue.requeue(cycle.queued)
        if bound:
            self._stories.bound([(cycle.pod.uid, cycle.node_name) for cycle in bound], verdicts[0].revision)
            self._bound(bound)

    def let_go(self, applied: Callable[[], int]) -> None:
        """Free what was refuted, as far as the cache has seen it, to be tried again.

        Args:
            applied: The revision up to which the cache has applied everything.
        """
        if not self._refuted:
            return
        self._assumed.advance(applied())
        for uid in tuple(self._refuted):
            # The others wait for the cache; of these it has shown what stands, or that nothing does.
            if not self._assumed.is_assumed(uid):
                self._retry(uid)

    def _bound(self, cycles: Sequence[Cycle]) -> None:
        self._queue.done(*(cycle.queued.key for cycle in cycles))
        moment = self._recorder.moment()
        self._recorder.publish([self._scheduled(cycle, moment) for cycle in cycles])
        now = self._clock.now()
        ended: dict[str, list[float]] = {}
        seen: dict[int, list[float]] = {}
        for cycle in cycles:
            queued = cycle.queued
            ended.setdefault(cycle.runtime.scheduler_name, []).append(now - cycle.started)
            seen.setdefault(queued.attempts, []).append(now - queued.first_seen)
            if queued.flushed:
                self._metrics.flushed()
        for profile, seconds in ended.items():
            self._metrics.attempted(SCHEDULED, profile, *seconds)
        for attempts, seconds in seen.items():
            self._metrics.bound(attempts, *seconds)
        for cycle in cycles:
            cycle.runtime.post_bind(cycle.state, cycle.pod, cycle.node_name)

    def _scheduled(self, cycle: Cycle, moment: str) -> Event:
        pod = cycle.pod
        return self._recorder.make(
            pod,
            reason="Scheduled",
            note=f"Successfully assigned {pod.path} to {cycle.node_name}",
            action="Binding",
            controller=cycle.runtime.scheduler_name,
            moment=moment,
        )

    def _refute(self, cycle: Cycle, verdict: Verdict) -> None:
        """The bind does not stand as of the reply: keep the room until the cache has seen what does."""
        pod = cycle.pod
        if story := self._stories.of(pod.uid):
            story.tell("bind refused", **{"node": cycle.node_name, "etcd.revision": verdict.revision})
        cycle.runtime.unreserve(cycle.state, pod, cycle.node_name)
        self._ended(cycle, ERROR)
        _log.info("bind refused", pod=pod.path, node=cycle.node_name, revision=verdict.revision)
        self._refuted[pod.uid] = cycle
        self._assumed.settle(pod.uid, verdict.revision)

    def _retry(self, uid: str) -> None:
        cycle = self._refuted.pop(uid, None)
        if cycle is not None:
            # A pod that has a node by now, or is gone, has left the queue: then this changes nothing.
            self._queue.requeue(cycle.queued)
            self.freed(cycle)

    def _ended(self, cycle: Cycle, result: str) -> None:
        """An attempt ended: its numbers."""
        self._metrics.attempted(result, cycle.runtime.scheduler_name, self._clock.now() - cycle.started)

    def _tell(self, cycle: Cycle, message: str, reason: str, nominated: str | None) -> None:
        self._announce(cycle, message)
        nominated = self._preemptor.promise(cycle.pod, nominated)
        self._statuses.say(cycle.pod, reason=reason, message=message, nominated=nominated)

    def _announce(self, cycle: Cycle, message: str) -> None:
        self._recorder.event(
            cycle.pod,
            reason=FAILED,
            note=message,
            action="Scheduling",
            type=WARNING,
            controller=cycle.runtime.scheduler_name,
        )
