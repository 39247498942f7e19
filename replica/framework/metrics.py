"""kube-scheduler's metrics of the framework, by its names and buckets.

Durations of single points and plugins are kept for sampled cycles only (kube-scheduler does so for plugins), and counts
are added up here and read when somebody asks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Protocol, TypeVar

from component.metrics import exponential_buckets, observed
from component.metrics.histogram import histogram

if TYPE_CHECKING:
    from component.clock import Clock
    from component.metrics.observed import Values
    from replica.api.pods import Pod
    from replica.framework.cycle_state import CycleState
    from replica.framework.status import Status

POINT_BUCKETS = exponential_buckets(0.0001, 2, 12)
PLUGIN_BUCKETS = exponential_buckets(0.00001, 1.5, 20)
PERMIT_BUCKETS = exponential_buckets(0.001, 2, 15)


class _Measuring(Protocol):
    _metrics: FrameworkMetrics


S = TypeVar("S", bound=_Measuring)
R = TypeVar("R", bound="Status | None")
Step = Callable[[S, "CycleState", "Pod", str], R]


def timed(point: str) -> Callable[[Step[S, R]], Step[S, R]]:
    """Measures a method that runs the plugins of an extension point for a pod with a place, in sampled cycles."""

    def decorate(step: Step[S, R]) -> Step[S, R]:
        @wraps(step)
        def measured(self: S, state: CycleState, pod: Pod, node_name: str) -> R:
            if not state.sampled:
                return step(self, state, pod, node_name)
            began = self._metrics.begin(state)
            status = step(self, state, pod, node_name)
            self._metrics.point(point, "Success" if status is None else status.code.value, began)
            return status

        return measured

    return decorate


class FrameworkMetrics:
    """The instruments of one profile.

    Attributes:
        evaluations: (plugin, extension point) -> calls.
    """

    def __init__(self, profile: str, clock: Clock) -> None:
        self._profile = profile
        self._clock = clock
        self.evaluations: Counter[tuple[str, str]] = Counter()
        self._points = histogram(
            "scheduler_framework_extension_point_duration",
            unit="s",
            labels=("extension_point", "status", "profile"),
            buckets=POINT_BUCKETS,
            description="Latency of all plugins of an extension point together, of sampled cycles",
        )
        self._plugins = histogram(
            "scheduler_plugin_execution_duration",
            unit="s",
            labels=("plugin", "extension_point", "status"),
            buckets=PLUGIN_BUCKETS,
            description="Latency of a plugin at an extension point, of sampled cycles",
        )
        self._permits = histogram(
            "scheduler_permit_wait_duration",
            unit="s",
            labels=("result",),
            buckets=PERMIT_BUCKETS,
            description="How long pods waited in Permit",
        )
        observed.counter(
            "scheduler_plugin_evaluation",
            self._observe,
            description="Calls of a plugin at an extension point",
        )

    def begin(self, state: CycleState) -> float:
        """The moment to hand to `point` or `plugin`; 0 when this cycle isn't measured."""
        return self._clock.now() if state.sampled else 0.0

    def point(self, name: str, status: str, began: float) -> None:
        """An extension point ended that began at `began`."""
        if began:
            self._points.record(self._clock.now() - began, name, status, self._profile)

    def plugin(self, name: str, point: str, status: str, began: float) -> None:
        """One plugin's part of an extension point ended that began at `began`."""
        self.evaluations[name, point] += 1
        if began:
            self._plugins.record(self._clock.now() - began, name, point, status)

    def permit_wait(self, result: str, seconds: float) -> None:
        self._permits.record(seconds, result)

    def _observe(self) -> Values:
        return [
            (calls, {"plugin": plugin, "extension_point": point, "profile": self._profile})
            for (plugin, point), calls in tuple(self.evaluations.items())
        ]
