"""kube-scheduler's metrics of the scheduling queue, read when somebody asks.

A counter's call costs as much as the queue's own work for a pod: so the queue counts by itself, as pods come and go,
and no reader holds its lock for longer than it takes to copy a few numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from component.metrics import observed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from component.metrics.observed import Values


class Counted(Protocol):
    """What is read of a scheduling queue."""

    def incoming(self) -> Mapping[tuple[str, str], int]:
        """Pods that came into a queue so far, by queue and event."""
        ...

    def refusals(self) -> Mapping[tuple[str, str], int]:
        """Pods that wait though somebody refused them, by plugin and profile; one counts for each that did.

        What was there once stays, at 0, here and below.
        """
        ...

    def happenings(self) -> Mapping[str, int]:
        """Cluster events remembered for the pods in flight, by event."""
        ...


class QueueMetrics:
    """The instruments of one queue."""

    def __init__(self, queue: Counted) -> None:
        self._queue = queue
        observed.counter(
            "scheduler_queue_incoming_pods",
            self._incoming,
            description="Pods that came into a queue, by queue and event",
        )
        observed.gauge(
            "scheduler_unschedulable_pods",
            self._refusals,
            description="Pods that wait though a plugin refused them; a pod counts for each plugin that did",
        )
        observed.gauge(
            "scheduler_inflight_events",
            self._happenings,
            description="Cluster events remembered for the pods whose cycles run",
        )

    def _incoming(self) -> Values:
        return [(count, {"queue": queue, "event": event}) for (queue, event), count in self._queue.incoming().items()]

    def _refusals(self) -> Values:
        return [
            (count, {"plugin": plugin, "profile": profile})
            for (plugin, profile), count in self._queue.refusals().items()
        ]

    def _happenings(self) -> Values:
        return [(count, {"event": event}) for event, count in self._queue.happenings().items()]
