"""kube-scheduler's metrics of the framework, by its names and buckets.

Recording costs more than the step recorded, so durations of single points and plugins are kept for sampled cycles only
(kube-scheduler does so for plugins), and counts are added up here and read when somebody asks.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from opentelemetry import metrics

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.metrics import CallbackOptions, Observation

    from component.clock import Clock
    from replica.framework.cycle_state import CycleState

POINT_BUCKETS = tuple(0.0001 * 2**n for n in range(12))
PLUGIN_BUCKETS = tuple(0.00001 * 1.5**n for n in range(20))
PERMIT_BUCKETS = tuple(0.001 * 2**n for n in range(15))


class FrameworkMetrics:
    """The instruments of one profile.

    Attributes:
        evaluations: (plugin, extension point) -> calls.
    """

    def __init__(self, profile: str, clock: Clock) -> None:
        self._profile = profile
        self._clock = clock
        self.evaluations: Counter[tuple[str, str]] = Counter()
        meter = metrics.get_meter(__name__)
        self._points = meter.create_histogram(
            "scheduler_framework_extension_point_duration",
            unit="s",
            description="Latency of all plugins of an extension point together, of sampled cycles",
            explicit_bucket_boundaries_advisory=POINT_BUCKETS,
        )
        self._plugins = meter.create_histogram(
            "scheduler_plugin_execution_duration",
            unit="s",
            description="Latency of a plugin at an extension point, of sampled cycles",
            explicit_bucket_boundaries_advisory=PLUGIN_BUCKETS,
        )
        self._permits = meter.create_histogram(
            "scheduler_permit_wait_duration",
            unit="s",
            description="How long pods waited in Permit",
            explicit_bucket_boundaries_advisory=PERMIT_BUCKETS,
        )
        meter.create_observable_counter(
            "scheduler_plugin_evaluation",
            callbacks=[self._observe],
            description="Calls of a plugin at an extension point",
        )

    def begin(self, state: CycleState) -> float:
        """The moment to hand to `point` or `plugin`; 0 when this cycle isn't measured."""
        return self._clock.now() if state.sampled else 0.0

    def point(self, name: str, status: str, began: float) -> None:
        """An extension point ended that began at `began`."""
        if began:
            labels = {"extension_point": name, "status": status, "profile": self._profile}
            self._points.record(self._clock.now() - began, labels)

    def plugin(self, name: str, point: str, status: str, began: float) -> None:
        """One plugin's part of an extension point ended that began at `began`."""
        self.evaluations[name, point] += 1
        if began:
            labels = {"plugin": name, "extension_point": point, "status": status}
            self._plugins.record(self._clock.now() - began, labels)

    def permit_wait(self, result: str, seconds: float) -> None:
        self._permits.record(seconds, {"result": result})

    def _observe(self, _options: CallbackOptions) -> Iterable[Observation]:
        for (plugin, point), calls in tuple(self.evaluations.items()):
            yield metrics.Observation(calls, {"plugin": plugin, "extension_point": point, "profile": self._profile})
