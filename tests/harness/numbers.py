"""Metrics as values, from a scrape and from what a collector received, so that the two can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from prometheus_client.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

Labels = tuple[tuple[str, str], ...]
Values = dict[str, dict[Labels, float]]
"""Name -> labels -> value. A histogram is its `_count`, `_sum`, and its buckets as they add up (label `le`)."""

_UNITS = {"s": "_seconds", "By": "_bytes"}


def of_scrape(text: str) -> Values:
    found: Values = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = {name: _bound(value) if name == "le" else value for name, value in sample.labels.items()}
            found.setdefault(sample.name, {})[_key(labels)] = sample.value
    return found


def of_export(request: ExportMetricsServiceRequest) -> Values:
    found: Values = {}
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                for name, labels, value in _samples(metric):
                    found.setdefault(name, {})[_key(labels)] = value
    return found


def exports(requests: Iterable[object], instance: str) -> list[ExportMetricsServiceRequest]:
    """The exports of one process, in order of arrival."""
    return [
        request
        for request in requests
        if isinstance(request, ExportMetricsServiceRequest)
        and any(
            (each.key, each.value.string_value) == ("service.instance.id", instance)
            for resource in request.resource_metrics
            for each in resource.resource.attributes
        )
    ]


def _samples(metric: Metric) -> Iterable[tuple[str, dict[str, str], float]]:
    """As Prometheus would have them."""
    suffix = _UNITS.get(metric.unit, "")
    name = metric.name if metric.name.endswith(suffix) else f"{metric.name}{suffix}"
    kind = metric.WhichOneof("data")
    if kind == "sum" and metric.sum.is_monotonic:
        name = f"{name.removesuffix('_total')}_total"
    for point in getattr(metric, str(kind)).data_points:
        labels = {each.key: each.value.string_value for each in point.attributes}
        if kind != "histogram":
            yield name, labels, float(getattr(point, point.WhichOneof("value")))
            continue
        yield f"{name}_count", labels, float(point.count)
        yield f"{name}_sum", labels, point.sum
        seen = 0
        for bound, count in zip((*point.explicit_bounds, float("inf")), point.bucket_counts, strict=True):
            seen += count
            yield f"{name}_bucket", {**labels, "le": _bound(bound)}, float(seen)


def _bound(value: float | str) -> str:
    return repr(float(value))


def _key(labels: dict[str, str]) -> Labels:
    return tuple(sorted(labels.items()))
