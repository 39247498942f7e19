"""Numbers for Prometheus and, if asked for, for an OTLP collector.

Instruments come from the OpenTelemetry API (`opentelemetry.metrics.get_meter`); they may be made, and cost next to
nothing, before `setup` has run. A histogram's buckets are given as `explicit_bucket_boundaries_advisory`. What is
recorded thousands of times a second goes to a `component.metrics.histogram.histogram` instead, and what its owner
counts anyway is read from there by `component.metrics.observed`.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from component import tracing
from component.clock import SystemClock
from component.lifecycle import Group
from component.tracing import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from opentelemetry.sdk.metrics.export import MetricReader

    from component.clock import Clock
    from component.metrics.push import Push

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""What `Metrics.render` gives: Prometheus' text format."""


def exponential_buckets(start: float, factor: float, count: int) -> list[float]:
    """Upper bounds `start`, `start * factor`, ...: `count` of them, to twelve digits."""
    return [float(f"{start * factor**step:.12g}") for step in range(count)]


class Metrics:
    """The process's metrics."""

    def __init__(self, generate: Callable[[], bytes], push: Push | None) -> None:
        self._generate = generate
        self._push = push
        self._lock = threading.Lock()

    def render(self) -> bytes:
        """Everything in Prometheus' text format, `CONTENT_TYPE`; callbacks of observable instruments run meanwhile."""
        with self._lock:  # the reader keeps what it collected in one place for all callers
            return self._generate()

    def shutdown(self, seconds: float, *, clock: Clock | None = None) -> bool:
        """Send the last values to the collector, if there is one, for `seconds` at most; `render` goes on working.

        Returns:
            Whether it took them in time.
        """
        return self._push is None or self._push.shutdown(seconds, clock=clock or SystemClock())


class _Installed:
    """The process's metrics: OpenTelemetry allows one provider."""

    metrics: Metrics | None = None
    lock = threading.Lock()


def setup(
    *,
    instance: str,
    service: str = "lockd",
    version: str = "",
    namespace: str = "",
    environ: Mapping[str, str] = os.environ,
) -> Metrics:
    """Collect what instruments record, and the process's own memory, CPU time, start time and open files.

    With OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_METRICS_ENDPOINT set they also go to a collector, each
    OTEL_METRIC_EXPORT_INTERVAL. The SDK is imported here, which takes a while: a thread of its own is a good place.
    A second call returns what the first one made.

    Args:
        instance: `service.instance.id`: the holder identity.
        service: `service.name`, unless OTEL_SERVICE_NAME is set.
        version: Of the project, for `lockd_build_info`.
    """
    from opentelemetry import metrics  # noqa: PLC0415 - slow, and only needed from here on
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415 - the same
    from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415 - the same

    from component.metrics import observed, process  # noqa: PLC0415 - the same
    from component.metrics.readers import PrometheusReader  # noqa: PLC0415 - the same
    from component.tracing.resource import resource  # noqa: PLC0415 - the same

    with _Installed.lock:
        if _Installed.metrics is not None:
            return _Installed.metrics
        registry = CollectorRegistry(auto_describe=False)
        readers: list[MetricReader] = [
            PrometheusReader(disable_target_info=True, scope_info_enabled=False, registry=registry)
        ]
        push = None
        if environment.otlp_wanted("METRICS", environ):
            from component.metrics.push import Push  # noqa: PLC0415 - the same

            push = Push(environ, group=Group("telemetry"))
            readers.append(push.reader)
        who = resource(service=service, instance=instance, version=version, namespace=namespace)
        metrics.set_meter_provider(MeterProvider(readers, resource=who, shutdown_on_exit=False))
        process.observe()
        observed.gauge("lockd_build_info", lambda: [(1, {"version": version})], description="The version that runs.")

        def losses() -> observed.Values:
            counts = {**tracing.losses(), **(push.losses() if push is not None else {})}
            return [(lost, {"pipeline": pipeline}) for pipeline, lost in counts.items()]

        observed.counter("lockd_telemetry_lost", losses, description="Spans and exports that were lost, by pipeline.")
        _Installed.metrics = Metrics(lambda: generate_latest(registry), push)
        return _Installed.metrics
