"""Readers that lay our own histograms beside what the SDK collects: imported only when metrics are set up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    HistogramDataPoint,
    Metric,
    MetricsData,
    PeriodicExportingMetricReader,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.sdk.metrics.export import Histogram as HistogramData
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from component.clock import SystemClock
from component.metrics.histogram import histograms

if TYPE_CHECKING:
    from component.metrics.histogram import Histogram, Point

_SCOPE = InstrumentationScope("component.metrics")
_CLOCK = SystemClock()


class PrometheusReader(PrometheusMetricReader):
    """What Prometheus scrapes."""

    def _receive_metrics(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any) -> None:
        super()._receive_metrics(with_histograms(metrics_data), timeout_millis, **kwargs)


class PeriodicReader(PeriodicExportingMetricReader):
    """What a collector is sent."""

    def _receive_metrics(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any) -> None:
        super()._receive_metrics(with_histograms(metrics_data), timeout_millis, **kwargs)


def with_histograms(metrics_data: MetricsData) -> MetricsData:
    """What was collected, and our histograms under the same resource."""
    now = round(_CLOCK.wall() * 1e9)
    ours = [_metric(each, points, now) for each in histograms() if (points := each.points())]
    if not ours or not metrics_data.resource_metrics:
        return metrics_data
    first, *others = metrics_data.resource_metrics
    scope = ScopeMetrics(_SCOPE, ours, "")
    return MetricsData([ResourceMetrics(first.resource, [*first.scope_metrics, scope], first.schema_url), *others])


def _metric(histogram: Histogram, points: tuple[Point, ...], now: int) -> Metric:
    started = round(histogram.started * 1e9)
    data = [
        HistogramDataPoint(
            attributes=dict(zip(histogram.labels, point.labels, strict=True)),
            start_time_unix_nano=started,
            time_unix_nano=now,
            count=sum(point.counts),
            sum=point.total,
            bucket_counts=point.counts,
            explicit_bounds=histogram.buckets,
            # of none there is neither, and OTLP has a way to say so
            min=point.least if any(point.counts) else None,  # type: ignore[arg-type]  # the SDK passes it on as it is
            max=point.most if any(point.counts) else None,  # type: ignore[arg-type]  # the same
        )
        for point in points
    ]
    return Metric(
        histogram.name, histogram.description, histogram.unit, HistogramData(data, AggregationTemporality.CUMULATIVE)
    )
