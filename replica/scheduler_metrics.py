"""kube-scheduler's metrics of whole attempts, by its names and buckets."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

from opentelemetry import metrics

from component.metrics import exponential_buckets
from component.metrics.histogram import histogram

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from opentelemetry.metrics import CallbackOptions, Observation

ATTEMPT_BUCKETS = exponential_buckets(0.001, 2, 15)
SLI_BUCKETS = exponential_buckets(0.01, 2, 20)
TRIES_BUCKETS = (1, 2, 4, 8, 16)

SCHEDULED, UNSCHEDULABLE, ERROR = "scheduled", "unschedulable", "error"


class SchedulerMetrics:
    """The instruments of the scheduling loop. What can be counted here is read when somebody asks.

    Args:
        sizes: Type (nodes, pods, assumed_pods) -> how many the cache holds now.
        pending: Queue -> how many pods wait in it now.
        binding: How many pods are being bound now.
    """

    def __init__(
        self,
        *,
        sizes: Callable[[], Mapping[str, int]],
        pending: Callable[[], Mapping[str, int]],
        binding: Callable[[], int],
    ) -> None:
        self._lock = threading.Lock()
        self._attempts: Counter[tuple[str, str]] = Counter()
        self._sizes = sizes
        self._pending = pending
        self._binding = binding
        self._after_flush = 0
        meter = metrics.get_meter(__name__)
        self._durations = histogram(
            "scheduler_scheduling_attempt_duration",
            unit="s",
            labels=("result", "profile"),
            buckets=ATTEMPT_BUCKETS,
            description="From taking a pod up to its bind or failure",
        )
        self._algorithm = histogram(
            "scheduler_scheduling_algorithm_duration",
            unit="s",
            buckets=ATTEMPT_BUCKETS,
            description="From a pod to the choice of its node",
        )
        self._sli = histogram(
            "scheduler_pod_scheduling_sli_duration",
            unit="s",
            labels=("attempts",),
            buckets=SLI_BUCKETS,
            description="From a pod's first sight to its bind, by attempts needed",
        )
        self._tries = histogram(
            "scheduler_pod_scheduling_attempts",
            buckets=TRIES_BUCKETS,
            description="Attempts that a pod needed to be bound",
        )
        meter.create_observable_counter(
            "scheduler_schedule_attempts", callbacks=[self._observe_attempts], description="Attempts by result"
        )
        meter.create_observable_counter(
            "scheduler_pod_scheduled_after_flush",
            callbacks=[self._observe_after_flush],
            description="Pods bound that nothing but their patience had brought back from the unschedulable pool",
        )
        meter.create_observable_gauge(
            "scheduler_cache_size", callbacks=[self._observe_sizes], description="Nodes, pods and assumed pods cached"
        )
        meter.create_observable_gauge(
            "scheduler_pending_pods", callbacks=[self._observe_pending], description="Pods that wait, by queue"
        )
        meter.create_observable_gauge(
            "scheduler_goroutines", callbacks=[self._observe_binding], description="Pods being bound"
        )

    def attempted(self, result: str, profile: str, seconds: float) -> None:
        """An attempt ended: scheduled, unschedulable or error."""
        with self._lock:
            self._attempts[result, profile] += 1
        self._durations.record(seconds, result, profile)

    def chosen(self, seconds: float) -> None:
        """A node was looked for, with or without success."""
        self._algorithm.record(seconds)

    def bound(self, attempts: int, seconds: float, *, flushed: bool = False) -> None:
        """A pod is bound, `seconds` after it was first seen; `flushed`: no event had brought it back to be tried."""
        if flushed:
            with self._lock:
                self._after_flush += 1
        self._tries.record(attempts)
        # kube-scheduler lumps what took more attempts than that together.
        self._sli.record(seconds, str(attempts) if attempts < 16 else "16+")

    def _observe_attempts(self, _: CallbackOptions) -> Iterable[Observation]:
        for (result, profile), count in tuple(self._attempts.items()):
            yield metrics.Observation(count, {"result": result, "profile": profile})

    def _observe_after_flush(self, _: CallbackOptions) -> Iterable[Observation]:
        return [metrics.Observation(self._after_flush)]

    def _observe_sizes(self, _: CallbackOptions) -> Iterable[Observation]:
        return [metrics.Observation(count, {"type": kind}) for kind, count in self._sizes().items()]

    def _observe_pending(self, _: CallbackOptions) -> Iterable[Observation]:
        return [metrics.Observation(count, {"queue": queue}) for queue, count in self._pending().items()]

    def _observe_binding(self, _: CallbackOptions) -> Iterable[Observation]:
        return [metrics.Observation(self._binding(), {"operation": "binding"})]
