from __future__ import annotations

import random
import threading

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData
from prometheus_client import CollectorRegistry, generate_latest

from component.metrics.histogram import FRESH, histogram
from component.metrics.readers import PeriodicReader, PrometheusReader, with_histograms


def test_values_fall_into_the_bucket_whose_bound_they_do_not_exceed():
    mine = histogram("test_fast_bounds", buckets=(1, 2, 4))
    for value in (0.5, 1, 1.5, 2, 4, 4.1, 100):
        mine.record(value)
    (point,) = mine.points()
    assert point.counts == (2, 2, 1, 2)
    assert (point.total, point.least, point.most) == (113.1, 0.5, 100)


def test_each_set_of_labels_is_a_series():
    mine = histogram("test_fast_labels", buckets=(1,), labels=("result", "profile"))
    mine.record(0.1, "scheduled", "a")
    mine.record(0.1, "scheduled", "a")
    mine.record(9.0, "error", "a")
    assert {point.labels: point.counts for point in mine.points()} == {
        ("scheduled", "a"): (2, 0),
        ("error", "a"): (0, 1),
    }


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="has labels"):
        histogram("test_fast_strict", buckets=(1,), labels=("result",)).record(1.0)


def test_many_values_at_once_or_alike_are_what_they_are_one_by_one():
    draw = random.Random(1)  # noqa: S311  # the same each time
    mine, plain = (histogram(f"test_fast_{name}", buckets=(0.1, 0.5)) for name in ("many", "plain"))
    for _ in range(3 * FRESH // 10):
        values = [draw.choice((0.1, 0.5, draw.random())) for _ in range(10)]
        mine.record_all(values[:9])
        mine.record(values[9])
        for value in values:
            plain.record(value)
    assert mine.points() == plain.points()
    for each in (mine, plain):
        each.record(-1.5, times=3)
    (point,) = mine.points()
    assert mine.points() == plain.points() == (point,)
    assert (sum(point.counts), point.least) == (10 * (3 * FRESH // 10) + 3, -1.5)


def test_what_has_been_added_up_is_remembered_beside_what_comes():
    mine = histogram("test_fast_extremes", buckets=(1,))
    for values in ((5.0, 0.25), (2.0, 1.0)):
        mine.record_all(values)
        (point,) = mine.points()
    assert (point.least, point.most, point.total, point.counts) == (0.25, 5.0, 8.25, (2, 2))


def test_the_same_name_is_the_same_histogram():
    assert histogram("test_fast_once", buckets=(1,)) is histogram("test_fast_once", buckets=(1, 2))


def test_no_value_is_lost_between_threads():
    mine = histogram("test_fast_threads", buckets=(1,))
    threads = [threading.Thread(target=lambda: [mine.record(0.5) for _ in range(2000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert mine.points()[0].counts == (8000, 0)


def test_prometheus_sees_no_difference_to_the_sdks_own():
    registry = CollectorRegistry(auto_describe=False)
    reader = PrometheusReader(disable_target_info=True, scope_info_enabled=False, registry=registry)
    provider = MeterProvider([reader], shutdown_on_exit=False)
    theirs = provider.get_meter("test").create_histogram(
        "test_theirs_duration", unit="s", description="How long.", explicit_bucket_boundaries_advisory=[0.1, 1.0]
    )
    ours = histogram("test_ours_duration", unit="s", description="How long.", buckets=(0.1, 1.0), labels=("result",))
    for value in (0.05, 0.5, 5.0):
        theirs.record(value, {"result": "scheduled"})
        ours.record(value, "scheduled")
    lines = generate_latest(registry).decode().splitlines()
    found = {name: [line.replace(name, "x") for line in lines if name in line] for name in ("test_theirs", "test_ours")}
    assert found["test_ours"] == found["test_theirs"]
    assert 'x_duration_seconds_bucket{le="1.0",result="scheduled"} 2.0' in found["test_ours"]
    provider.shutdown()


class Exporter:
    """Keeps what it is given."""

    def __init__(self):
        self.got = []
        self._preferred_temporality = self._preferred_aggregation = {}

    def export(self, metrics_data, timeout_millis=10_000, **_):
        self.got.append(metrics_data)
        return MetricExportResult.SUCCESS

    def force_flush(self, timeout_millis=10_000):
        return True

    def shutdown(self, timeout_millis=30_000, **_):
        return None


def test_a_collector_is_sent_them_too():
    exporter = Exporter()
    reader = PeriodicReader(exporter, export_interval_millis=3_600_000)
    provider = MeterProvider([reader], shutdown_on_exit=False)
    provider.get_meter("test").create_counter("test_other").add(1)
    histogram("test_pushed", buckets=(1,), labels=("kind",)).record(0.5, "x")
    provider.shutdown()
    metrics = {
        metric.name: metric for scope in exporter.got[0].resource_metrics[0].scope_metrics for metric in scope.metrics
    }
    (point,) = metrics["test_pushed"].data.data_points
    assert (dict(point.attributes), point.count, point.sum) == ({"kind": "x"}, 1, 0.5)
    assert point.start_time_unix_nano < point.time_unix_nano


def test_where_nothing_was_collected_nothing_is_added():
    empty = MetricsData([])
    assert with_histograms(empty) is empty


def test_who_records_under_the_same_labels_again_and_again_counts_as_anybody():
    mine = histogram("test_fast_again", buckets=(1,), labels=("result",))
    assert mine.points() == ()
    record = mine.series("ok")
    for number in range(FRESH + 3):
        record(number / 10)
        mine.record(number / 10, "ok")
    (point,) = mine.points()
    record(5.0)
    assert (point.labels, sum(point.counts)) == (("ok",), 2 * (FRESH + 3))
    assert sum(mine.points()[0].counts) == 2 * (FRESH + 3) + 1
    with pytest.raises(ValueError, match="has labels"):
        mine.series()
