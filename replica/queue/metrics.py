"""kube-scheduler's metrics of the scheduling queue, read when somebody asks.

A counter's call costs as much as the queue's own work for a pod: so the queue counts by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from opentelemetry import metrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from opentelemetry.metrics import CallbackOptions


class Counted(Protocol):
    """What is read of a scheduling queue."""

    def incoming(self) -> Mapping[tuple[str, str], int]:
        """Pods that came into a queue so far, by queue and event."""
        ...

    def refusals(self) -> Mapping[tuple[str, str], int]:
        """Pods that wait though somebody refused them, by plugin and profile; one counts for each that did."""
        ...

    def happenings(self) -> Mapping[str, int]:
        """Cluster events remembered for the pods in flight, by event."""
        ...


class QueueMetrics:
    """The instruments of one queue."""

    def __init__(self, queue: Counted) -> None:
        self._queue = queue
        meter = metrics.get_meter(__name__)
        meter.create_observable_counter(
            "scheduler_queue_incoming_pods",
            callbacks=[self._incoming],
            description="Pods that came into a queue, by queue and event",
        )
        meter.create_observable_gauge(
            "scheduler_unschedulable_pods",
            callbacks=[self._refusals],
            description="Pods that wait though a plugin refused them; a pod counts for each plugin that did",
        )
        meter.create_observable_gauge(
            "scheduler_inflight_events",
            callbacks=[self._happenings],
            description="Cluster events remembered for the pods whose cycles run",
        )

    def _incoming(self, _: CallbackOptions) -> Iterable[metrics.Observation]:
        for (queue, event), count in self._queue.incoming().items():
            yield metrics.Observation(count, {"queue": queue, "event": event})

    def _refusals(self, _: CallbackOptions) -> Iterable[metrics.Observation]:
        for (plugin, profile), count in self._queue.refusals().items():
            yield metrics.Observation(count, {"plugin": plugin, "profile": profile})

    def _happenings(self, _: CallbackOptions) -> Iterable[metrics.Observation]:
        for event, count in self._queue.happenings().items():
            yield metrics.Observation(count, {"event": event})
