"""The scheduling cycle: takes one pod to a place, and hands it over to be bound."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING, Final

from component import logs
from lockd.fencing import ObjectWrite
from lockd.record import display_time
from replica.api import codec
from replica.api.events import WARNING
from replica.api.keys import object_key
from replica.api.kinds import POD
from replica.binding import Binding
from replica.framework.cycle_state import CycleState
from replica.framework.diagnosis import Diagnosis
from replica.framework.status import Code, PluginFailed, Status
from replica.handlers import DELETED
from replica.outcomes import FAILED, Cycle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockd.fencing import Token
    from replica.cache.nodes import Nodes
    from replica.framework.waiting import WaitingPod
    from replica.outcomes import Outcomes
    from replica.parts import Parts
    from replica.queue.pod import QueuedPod
    from replica.scheduler_metrics import SchedulerMetrics
    from replica.statuses import StatusWriter

_log = logs.get(__name__)

SAMPLED: Final = 0.1
"""The share of cycles whose points and plugins are timed one by one; kube-scheduler's."""


TRACED: Final = 0.01
"""The share of attempts that get a span of their own: one costs as much as scheduling a pod."""


class SchedulingCycle:
    """One term's cycles. They run one after the other, on the scheduling thread."""

    def __init__(
        self, parts: Parts, statuses: StatusWriter, outcomes: Outcomes, metrics: SchedulerMetrics, token: Token
    ) -> None:
        self._parts = parts
        self._statuses = statuses
        self._outcomes = outcomes
        self._metrics = metrics
        self._token = int(token)
        self._clock = parts.clock
        self._second, self._stamp = 0, ""
        self._held: dict[str, Cycle] = {}
        self._resolved: queue.SimpleQueue[tuple[Cycle, Status]] = queue.SimpleQueue()

    def run(self, queued: QueuedPod) -> Cycle | None:
        """PreFilter to Permit for one pod.

        Returns:
            The cycle with its place reserved, when its binding cycle is to begin now; None when the pod has been dealt
            with otherwise, or waits in Permit.
        """
        parts, pod = self._parts, queued.pod
        runtime = parts.profiles.get(pod.spec.scheduler)
        if runtime is None or pod.value is None or pod.uid in parts.assumed or pod.deleting:
            self._skip(queued)
            return None
        state = CycleState(sampled=parts.draw.random() < SAMPLED)
        cycle = Cycle(queued, runtime, state, self._clock.now(), traced=parts.draw.random() < TRACED)
        try:
            node_name = self._place(cycle, parts.table.snapshot())
        except PluginFailed as error:
            _log.error("plugin failed", plugin=error.plugin, point=error.point, pod=pod.path, error=error.reason)
            self._outcomes.failed(cycle, str(error))
            return None
        if node_name is None:
            return None
        cycle.node_name = node_name
        return self._reserve(cycle)

    def resolve(self, waiting: WaitingPod, status: Status) -> None:
        """A pod that Permit held was allowed or rejected: called from any thread."""
        cycle = self._held.pop(waiting.pod.uid, None)
        if cycle is not None:
            self._resolved.put((cycle, status))

    def resolved(self) -> Iterator[Cycle]:
        """The cycles that were held and may go on; those rejected are settled on the way."""
        while not self._resolved.empty():
            cycle, status = self._resolved.get()
            if status.ok:
                yield cycle
            else:
                self.reject(cycle, status)

    def prepare(self, cycle: Cycle) -> Binding | None:
        """PreBind and Bind: the write that binds the pod, or None if it can't be bound. May block in PreBind."""
        pod = cycle.pod
        if self._parts.table.row(cycle.node_name) is None:
            self._outcomes.undone(cycle)
            self._outcomes.failed(cycle, f"node {cycle.node_name} is gone")
            return None
        for step in (cycle.runtime.pre_bind, cycle.runtime.bind):
            status = step(cycle.state, pod, cycle.node_name)
            if not status.ok:
                self.reject(cycle, status)
                return None
        if pod.value is None:
            raise LookupError(f"pod {pod.path} has no stored value to bind")
        value = codec.bound(pod.value, cycle.node_name, self._token, at=self._now())
        key = object_key(self._parts.lock.prefix, POD, pod.name, pod.namespace)
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
        """A plugin refused a pod that has its place already, or failed."""
        self._outcomes.undone(cycle)
        if status.rejected:
            self._outcomes.refused(cycle, status.message, (status.plugin,))
        else:
            self._outcomes.failed(cycle, status.message)

    def _skip(self, queued: QueuedPod) -> None:
        """Nothing to schedule: it counts on a node already, is being deleted, or is nobody's we know."""
        pod = queued.pod
        if pod.deleting:
            note = f"skip schedule deleting pod: {pod.path}"
            self._parts.recorder.event(
                pod, reason=FAILED, note=note, action="Scheduling", type=WARNING, controller=pod.spec.scheduler
            )
        self._parts.queue.done(queued.key)

    def _place(self, cycle: Cycle, nodes: Nodes) -> str | None:
        """The node that the pod should have, or None when that has been settled as a refusal."""
        runtime, state, pod = cycle.runtime, cycle.state, cycle.pod
        began = self._clock.now()
        found = runtime.place(state, pod, nodes)
        self._metrics.chosen(self._clock.now() - began)
        if not isinstance(found, Diagnosis):
            return found.node_name
        nominated = ""
        if found.nodes:
            result = runtime.post_filter(state, pod, nodes, found)
            nominated = result.nominated_node
            found = found.after(result.status.message)
        self._outcomes.refused(cycle, found.message, found.plugins, nominated=nominated)
        return None

    def _reserve(self, cycle: Cycle) -> Cycle | None:
        """Assume, Reserve, Permit."""
        runtime, state, pod, node_name = cycle.runtime, cycle.state, cycle.pod, cycle.node_name
        if not self._statuses.withdraw(pod.uid):
            # Its status is being written: a bind now would compare a revision that is about to pass.
            self._parts.queue.requeue(cycle.queued)
            return None
        if not self._parts.assumed.assume(pod, node_name):
            if pod.uid in self._parts.assumed:
                self._parts.queue.done(cycle.queued.key)  # somebody bound it meanwhile
            else:
                self._outcomes.failed(cycle, f"node {node_name} is gone")
            return None
        status = runtime.reserve(state, pod, node_name)
        if status.ok and runtime.permits:
            # Known before it waits: another thread may allow it at once.
            self._held[pod.uid] = cycle
            status = runtime.permit(state, pod, node_name)
            if status.code is Code.WAIT:
                if pod.uid not in self._parts.assumed:
                    # It was deleted before it waited, so that nobody else will call it off.
                    self._parts.waiting.reject(pod.uid, "", DELETED)
                return None
            del self._held[pod.uid]
        if status.ok:
            return cycle
        self.reject(cycle, status)
        return None
