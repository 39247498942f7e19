"""kube-scheduler's metrics of whole attempts, by its names and buckets."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING

from component.metrics import exponential_buckets, observed
from component.metrics.histogram import histogram
from replica.write_metrics import BINDING, STATUS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from component.metrics.observed import Values

ATTEMPT_BUCKETS = exponential_buckets(0.001, 2, 15)
SLI_BUCKETS = exponential_buckets(0.01, 2, 20)
TRIES_BUCKETS = (1, 2, 4, 8, 16)

SCHEDULED, UNSCHEDULABLE, ERROR = "scheduled", "unschedulable", "error"


class SchedulerMetrics:
    """The instruments of the scheduling loop. What can be counted here is read when somebody asks.

    Args:
        sizes: Type (nodes, pods, assumed_pods) -> how many the cache holds now.
        pending: Queue -> how many pods wait in it now.
        under_way: How many pods are being bound now, and of how many the status is being written.
        profiles: Their attempts are told from the start, at 0.
    """

    def __init__(
        self,
        *,
        sizes: Callable[[], Mapping[str, int]],
        pending: Callable[[], Mapping[str, int]],
        under_way: Callable[[], tuple[int, int]],
        profiles: Iterable[str] = (),
    ) -> None:
        self._lock = threading.Lock()
        self._attempts: Counter[tuple[str, str]] = Counter(
            {(result, profile): 0 for profile in profiles for result in (SCHEDULED, UNSCHEDULABLE, ERROR)}
        )
        self._sizes = sizes
        self._pending = pending
        self._under_way = under_way
        self._after_flush = 0
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
        observed.counter("scheduler_schedule_attempts", self._read_attempts, description="Attempts by result")
        observed.counter(
            "scheduler_pod_scheduled_after_flush",
            self._read_after_flush,
            description="Pods bound that nothing but their patience had brought back from the unschedulable pool",
        )
        observed.gauge("scheduler_cache_size", self._read_sizes, description="Nodes, pods and assumed pods cached")
        observed.gauge("scheduler_pending_pods", self._read_pending, description="Pods that wait, by queue")
        observed.gauge("scheduler_goroutines", self._read_binding, description="Pods being bound")
        observed.gauge(
            "scheduler_pending_async_api_calls", self._read_calls, description="Writes for pods that are under way"
        )

    def attempted(self, result: str, profile: str, *seconds: float) -> None:
        """An attempt ended after so many seconds, or several did: scheduled, unschedulable or error."""
        with self._lock:
            self._attempts[result, profile] += len(seconds)
        self._durations.record_all(seconds, result, profile)

    def chosen(self, seconds: float) -> None:
        """A node was looked for, with or without success."""
        self._algorithm.record(seconds)

    def bound(self, attempts: int, *seconds: float) -> None:
        """A pod is bound after so many attempts, `seconds` after it was first seen; or several are."""
        self._tries.record(attempts, times=len(seconds))
        # kube-scheduler lumps what took more attempts than that together.
        self._sli.record_all(seconds, str(attempts) if attempts < 16 else "16+")

    def flushed(self) -> None:
        """A pod is bound that no event had brought back to be tried."""
        with self._lock:
            self._after_flush += 1

    def _read_attempts(self) -> Values:
        return [
            (count, {"result": result, "profile": profile})
            for (result, profile), count in tuple(self._attempts.items())
        ]

    def _read_after_flush(self) -> Values:
        return [(self._after_flush, {})]

    def _read_sizes(self) -> Values:
        return [(count, {"type": kind}) for kind, count in self._sizes().items()]

    def _read_pending(self) -> Values:
        return [(count, {"queue": queue}) for queue, count in self._pending().items()]

    def _read_binding(self) -> Values:
        return [(self._under_way()[0], {"operation": "binding"})]

    def _read_calls(self) -> Values:
        return [(count, {"call_type": call}) for call, count in zip((BINDING, STATUS), self._under_way(), strict=True)]
