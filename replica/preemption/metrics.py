"""kube-scheduler's metrics of preemption, by its names and buckets."""

from __future__ import annotations

from opentelemetry import metrics

from component.metrics import exponential_buckets
from component.metrics.histogram import histogram

VICTIM_BUCKETS = exponential_buckets(1, 2, 7)


class PreemptionMetrics:
    """How often preemption was tried, and how many pods had to go."""

    def __init__(self) -> None:
        self._attempts = metrics.get_meter(__name__).create_counter(
            "scheduler_preemption_attempts", description="Times that preemption was asked to make room for a pod"
        )
        self._attempts.add(0)
        self._victims = histogram(
            "scheduler_preemption_victims",
            buckets=VICTIM_BUCKETS,
            description="Pods that were chosen to go for another one",
        )

    def attempt(self) -> None:
        self._attempts.add(1)

    def victims(self, count: int) -> None:
        self._victims.record(count)
