"""The numbers of what a term writes: refused transactions, batches of binds, and kube-scheduler's of calls.

kube-scheduler counts calls to its API server; here each pod of a transaction counts as one.
"""

from __future__ import annotations

from typing import Final

from opentelemetry import metrics

from component.metrics import exponential_buckets
from component.metrics.histogram import histogram

BINDING: Final = "pod_binding"
STATUS: Final = "pod_status_patch"

CALL_BUCKETS: Final = exponential_buckets(0.001, 2, 15)
BATCH_BUCKETS: Final = exponential_buckets(1, 2, 8)


class WriteMetrics:
    """The instruments. All of these in a process are the same, there from the start at 0."""

    def __init__(self) -> None:
        meter = metrics.get_meter(__name__)
        self._rejections = meter.create_counter(
            "lockd_fencing_rejections", description="Transactions refused since their term was over"
        )
        self._calls = meter.create_counter(
            "scheduler_async_api_call_execution", description="Writes that were made for pods, by what came of them"
        )
        self._durations = histogram(
            "scheduler_async_api_call_execution_duration",
            unit="s",
            labels=("call_type", "result"),
            buckets=CALL_BUCKETS,
            description="From the first sending of a write to its outcome",
        )
        self._batches = histogram(
            "lockd_bind_batch_pods", buckets=BATCH_BUCKETS, description="Pods in a transaction of binds"
        )
        self._rejections.add(0)
        for call in (BINDING, STATUS):
            for result in ("success", "error"):
                self._calls.add(0, {"call_type": call, "result": result})

    def rejected(self) -> None:
        """etcd refused a transaction, since its term was over."""
        self._rejections.add(1)

    def batch(self, pods: int) -> None:
        """A transaction that binds so many pods is sent for the first time."""
        self._batches.record(pods)

    def settled(self, call: str, seconds: float, *, done: int, failed: int) -> None:
        """A transaction of this type is settled: the writes that stand, and those that don't."""
        for result, count in (("success", done), ("error", failed)):
            if count:
                self._calls.add(count, {"call_type": call, "result": result})
                self._durations.record(seconds, call, result, times=count)
