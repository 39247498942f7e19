"""The scheduling cycle: takes one pod to a place, and hands it over to be bound."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING, Final

from component import logs
from lockd.fencing import ObjectWrite
from lockd.record import display_time
from replica.api import codec
from replica.api.events import WARNING
from replica.api.keys import kind_prefix
from replica.api.kinds import POD
from replica.attempts import Cycle, Miss
from replica.binding import Binding
from replica.framework.cycle_state import CycleState
from replica.framework.diagnosis import Diagnosis
from replica.framework.disruptions import PostFilterResult
from replica.framework.status import Code, PluginFailed, Status, unschedulable
from replica.handlers import DELETED
from replica.outcomes import FAILED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockd.fencing import Token
    from replica.attempts import Party
    from replica.cache.nodes import Nodes
    from replica.framework.gang import Gang
    from replica.framework.waiting import WaitingPod
    from replica.outcomes import Outcomes
    from replica.parts import Parts
    from replica.preemption.preemptor import Preemptor
    from replica.queue.pod import QueuedPod
    from replica.scheduler_metrics import SchedulerMetrics
    from replica.statuses import StatusWriter

_log = logs.get(__name__)

SAMPLED: Final = 0.1
"""The share of cycles whose points and plugins are timed one by one; kube-scheduler's."""


MAKING_ROOM: Final = PostFilterResult(
    unschedulable("preemption: not eligible due to a terminating pod on the nominated node.")
)


class SchedulingCycle:
    """One term's cycles. They run one after the other, on the scheduling thread."""

    def __init__(
        self,
        parts: Parts,
        statuses: StatusWriter,
        preemptor: Preemptor,
        outcomes: Outcomes,
        *,
        metrics: SchedulerMetrics,
        token: Token,
    ) -> None:
        self._parts = parts
        self._statuses = statuses
        self._preemptor = preemptor
        self._outcomes = outcomes
        self._metrics = metrics
        self._token = int(token)
        self._clock = parts.clock
        self._base = kind_prefix(parts.lock.prefix, POD)
        self._second, self._stamp = 0, ""
        self._held: dict[str, Cycle] = {}
        self._resolved: queue.SimpleQueue[tuple[Cycle, Status]] = queue.SimpleQueue()

    def run(self, queued: QueuedPod) -> Cycle | None:
        """PreFilter to Permit for one pod.

        Returns:
            The cycle with its place reserved, when its binding cycle is to begin now; None when the pod has been dealt
            with otherwise, or waits in Permit.
        """
        cycle = self.begin(queued)
        if cycle is None:
            return None
        nodes = self.nodes()
        found = self.place(cycle, nodes)
        if isinstance(found, Diagnosis):
            self._refuse(cycle, nodes, found)
            return None
        missed = found or self.reserve(cycle)
        if missed is not None:
            self.settle(missed)
            return None
        return cycle if self.permit(cycle) else None

    def gang(self, queued: QueuedPod) -> Gang | None:
        """The gang that a pod is of.

        Raises:
            PluginFailed: A plugin is broken.
        """
        runtime = self._parts.profiles.get(queued.pod.spec.scheduler)
        return None if runtime is None else runtime.gang(queued.pod)

    def nodes(self) -> Nodes:
        """The nodes as they stand, with all that have a place on them."""
        return self._parts.table.snapshot()

    def begin(self, queued: QueuedPod) -> Cycle | None:
        """Take up a pod; None when there is nothing to schedule, and then it has been dealt with."""
        parts, pod = self._parts, queued.pod
        runtime = parts.profiles.get(pod.spec.scheduler)
        if runtime is None or pod.value is None or pod.uid in parts.assumed or pod.deleting:
            self._skip(queued)
            return None
        state = CycleState(sampled=parts.draw.random() < SAMPLED)
        parts.stories.attempt(queued)
        return Cycle(queued, runtime, state, self._clock.now())

    def place(self, cycle: Cycle, nodes: Nodes) -> Diagnosis | Miss | None:
        """Find the pod's node and note it in the cycle; else why there is none, or what is broken."""
        began = self._clock.now()
        try:
            found = cycle.runtime.place(cycle.state, cycle.pod, nodes)
        except PluginFailed as error:
            return self._failed(cycle, error)
        self._metrics.chosen(self._clock.now() - began)
        if isinstance(found, Diagnosis):
            return found
        cycle.node_name = found.node_name
        return None

    def reserve(self, cycle: Cycle) -> Miss | None:
        """Assume and Reserve: the place is the pod's from now on, or nothing has changed."""
        pod, node_name = cycle.pod, cycle.node_name
        if not (self._statuses.withdraw(pod.uid) and self._preemptor.placed(pod.uid)):
            # Its status is being written: a bind now would compare a revision that is about to pass.
            return Miss(cycle)
        if not self._parts.assumed.assume(pod, node_name):
            if pod.uid in self._parts.assumed:
                return Miss(cycle)  # somebody bound it meanwhile
            return Miss(cycle, f"node {node_name} is gone", error=True)
        self._parts.queue.nominator.forget(pod.path)  # it takes the room that it was promised, or another
        status = cycle.runtime.reserve(cycle.state, pod, node_name)
        if status.ok:
            return None
        self._outcomes.undone(cycle)
        return Miss(cycle, status.message, frozenset({status.plugin}), error=not status.rejected)

    def permit(self, cycle: Cycle) -> bool:
        """Permit: whether the pod may go on at once; otherwise it waits, or was refused."""
        runtime, pod = cycle.runtime, cycle.pod
        if not runtime.permits:
            return True
        # Known before it waits: another thread may allow it at once.
        cycle.held = self._clock.now()
        self._held[pod.uid] = cycle
        status = runtime.permit(cycle.state, pod, cycle.node_name)
        if status.code is Code.WAIT:
            if story := self._parts.stories.of(pod.uid):
                story.tell("held", node=cycle.node_name, plugin=status.plugin)
            if pod.uid not in self._parts.assumed:
                # It was deleted before it waited, so that nobody else will call it off.
                self._parts.waiting.reject(pod.uid, "", DELETED)
            return False
        del self._held[pod.uid]
        if not status.ok:
            self.reject(cycle, status)
        return status.ok

    def settle(self, missed: Miss) -> None:
        """A pod got no place, and nobody could make it one."""
        cycle = missed.cycle
        if missed.error:
            self._outcomes.failed(cycle, missed.message)
        elif missed.plugins:
            self._outcomes.refused(cycle, missed.message, missed.plugins)
        elif cycle.pod.uid in self._parts.assumed:
            self._parts.queue.done(cycle.queued.key)
        else:
            self._parts.queue.requeue(cycle.queued)

    def resolve(self, waiting: WaitingPod, status: Status) -> None:
        """A pod that Permit held was allowed or rejected: called from any thread."""
        cycle = self._held.pop(waiting.pod.uid, None)
        if cycle is not None:
            cycle.runtime.permit_waited(status, self._clock.now() - cycle.held)
            self._resolved.put((cycle, status))

    def resolved(self) -> Iterator[Cycle]:
        """The cycles that were held and may go on; those rejected are settled on the way."""
        while not self._resolved.empty():
            cycle, status = self._resolved.get()
            if status.ok:
                if story := self._parts.stories.of(cycle.pod.uid):
                    story.tell("permitted")
                yield cycle
            else:
                self.reject(cycle, status)

    def prepare(self, cycle: Cycle) -> Binding | None:
        """PreBind and Bind: the write that binds the pod, or None if it can't be bound. May block in PreBind."""
        pod = cycle.pod
        if cycle.party is not None and cycle.party.broken:
            self.reject(
                cycle, unschedulable(f"pod group {cycle.party.gang.key} was called off").by(cycle.party.gang.plugin)
            )
            return None
        if self._parts.table.row(cycle.node_name) is None:
            self.reject(cycle, Status(Code.ERROR, (f"node {cycle.node_name} is gone",)))
            return None
        for step in (cycle.runtime.pre_bind, cycle.runtime.bind):
            status = step(cycle.state, pod, cycle.node_name)
            if not status.ok:
                self.reject(cycle, status)
                return None
        if pod.value is None:
            raise LookupError(f"pod {pod.path} has no stored value to bind")
        value = codec.bound(pod.value, cycle.node_name, self._token, at=self._now())
        key = f"{self._base}{pod.path}"
        self._outcomes.binding(cycle)
        self._parts.expect(key, value, pod.on(cycle.node_name, token=self._token))
        return Binding(pod, cycle.node_name, ObjectWrite(key, pod.mod_revision, value))

    def abandon(self) -> None:
        """The term ends: give up the places of those who were allowed at the last moment."""
        while not self._resolved.empty():
            self._outcomes.abandon(self._resolved.get()[0])

    def _now(self) -> str:
        """RFC 3339 in whole seconds, as conditions have it; made once a second."""
        second = int(self._clock.wall())
        if second != self._second:
            self._second, self._stamp = second, display_time(second)
        return self._stamp

    def reject(self, cycle: Cycle, status: Status) -> None:
        """A plugin refused a pod that has its place already, or failed: so it ends for all that it was to go with."""
        self._give_up(cycle, status)
        if cycle.party is not None:
            self.break_up(cycle.party, _because(cycle, status))

    def break_up(self, party: Party, status: Status) -> None:
        """None of these is bound this time."""
        for ready in party.break_up():
            self._give_up(ready, status)
        for other in party.members:
            self._parts.waiting.reject(other.pod.uid, status.plugin, status.message)

    def _give_up(self, cycle: Cycle, status: Status) -> None:
        self._outcomes.undone(cycle)
        if status.rejected:
            self._outcomes.refused(cycle, status.message, (status.plugin,))
        else:
            self._outcomes.failed(cycle, status.message)
        self._outcomes.freed(cycle)

    def _skip(self, queued: QueuedPod) -> None:
        """Nothing to schedule: it counts on a node already, is being deleted, or is nobody's we know."""
        pod = queued.pod
        if pod.deleting:
            note = f"skip schedule deleting pod: {pod.path}"
            self._parts.recorder.event(
                pod, reason=FAILED, note=note, action="Scheduling", type=WARNING, controller=pod.spec.scheduler
            )
        self._parts.queue.done(queued.key)

    def _refuse(self, cycle: Cycle, nodes: Nodes, found: Diagnosis) -> None:
        """No node can take a pod: PostFilter may make room, and its user is told."""
        if self._preemptor.pending(cycle.pod.uid):
            # Asking twice would have more pods go than are needed: it is tried again once the cache shows who goes.
            self._outcomes.refused(cycle, found.after(MAKING_ROOM.status.message).message, (), room=MAKING_ROOM)
            return
        room = None
        if found.nodes:
            try:
                room = cycle.runtime.post_filter(cycle.state, cycle.pod, nodes, found)
            except PluginFailed as error:
                self.settle(self._failed(cycle, error))
                return
            found = found.after(room.status.message)
        self._outcomes.refused(cycle, found.message, found.plugins, room=room)

    def _failed(self, cycle: Cycle, error: PluginFailed) -> Miss:
        _log.error("plugin failed", plugin=error.plugin, point=error.point, pod=cycle.pod.path, error=error.reason)
        return Miss(cycle, str(error), error=True)


def _because(cycle: Cycle, status: Status) -> Status:
    """Why a gang was called off: what was said of one of its pods."""
    name = cycle.party.gang.key if cycle.party is not None else ""
    return Status(status.code, (f"pod group {name}: {cycle.pod.path}: {status.message}",), status.plugin, status.error)
