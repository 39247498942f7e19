"""Metrics to an OTLP collector: imported only when there is one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from opentelemetry.sdk.metrics.export import (
    MetricExporter,
    MetricExportResult,
    MetricsData,
)

from component import logs
from component.metrics.readers import PeriodicReader
from component.tracing import environment
from component.tracing.exporter import quieted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from component.clock import Clock
    from component.lifecycle import Group

_log = logs.get(__name__)


class LateExporter(MetricExporter):
    """An OTLP/gRPC exporter that is imported and set up by the threads that use it.

    Its reader has to be there before the first value is recorded, which the import would delay. Sums are cumulative.
    It says once when values begin to be lost, and once when they no longer are.

    Attributes:
        taken: Exports that the collector took.
        lost: Exports that it didn't take.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__()
        self.taken = 0
        self.lost = 0
        self._environ = environ
        self._reasons = quieted()
        self._lock = threading.Lock()
        self._exporter: MetricExporter | None = None
        self._failing = False

    def open(self) -> MetricExporter | None:
        """Make it ready; None when that fails, as with a bad setting."""
        with self._lock:
            if self._exporter is None:
                try:
                    self._exporter = _exporter(self._environ)
                except Exception as error:  # noqa: BLE001 - telemetry that can't start must not stop what it watches
                    self._reasons.last = f"{type(error).__name__}: {error}"
            return self._exporter

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: object) -> MetricExportResult:
        exporter = self.open()
        result = exporter.export(metrics_data, timeout_millis, **kwargs) if exporter else MetricExportResult.FAILURE
        failed = result is not MetricExportResult.SUCCESS
        if failed and not self._failing:
            _log.warning("telemetry is being lost", pipeline=PIPELINE, error=self._reasons.last)
        if self._failing and not failed:
            _log.info("telemetry is taken again", pipeline=PIPELINE)
        self._failing = failed
        self.taken += not failed
        self.lost += failed
        return result

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        """Nothing is held back here."""
        return timeout_millis >= 0

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: object) -> None:
        if self._exporter:
            self._exporter.shutdown(timeout_millis, **kwargs)


PIPELINE: Final = "metrics-otlp"


class Push:
    """Sends values each OTEL_METRIC_EXPORT_INTERVAL, the last ones when asked to shut down.

    Attributes:
        reader: For the provider.
    """

    def __init__(self, environ: Mapping[str, str], *, group: Group) -> None:
        self._exporter = LateExporter(environ)
        self.reader = PeriodicReader(self._exporter)
        self._group = group
        group.spawn(PIPELINE, self._exporter.open)

    def losses(self) -> Mapping[str, int]:
        """How many exports were lost so far, by pipeline. Sums are cumulative: the next one makes up for them."""
        return {PIPELINE: self._exporter.lost}

    def shutdown(self, seconds: float, *, clock: Clock) -> bool:
        """Send the last values, for `seconds` at most; returns whether the collector took them."""
        before, done = self._exporter.taken, threading.Event()

        def last() -> None:
            self.reader.shutdown(timeout_millis=seconds * 1000)
            done.set()

        self._group.spawn("metrics-last", last)
        return clock.wait(done, seconds) and self._exporter.taken > before


def _exporter(environ: Mapping[str, str]) -> MetricExporter:
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter  # noqa: PLC0415 - slow

    return OTLPMetricExporter(timeout=environment.export_timeout("METRICS", environ))
