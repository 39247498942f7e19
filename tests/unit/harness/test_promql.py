"""The reader of queries refuses what Prometheus would be silent about."""

from __future__ import annotations

import pytest

from tests.harness.golden import Metric
from tests.harness.promql import Reader, Wrong

METRICS = {
    "leads": Metric("gauge", ("name",)),
    "binds_total": Metric("counter", ("result",)),
    "wait_seconds": Metric("histogram", ("queue",), (0.5, 1.0)),
}

RIGHT = [
    ("leads", {"job", "instance", "name"}),
    ('leads{name="a", job=~"$job"} offset 15m == 1', {"job", "instance", "name"}),
    ("max by (job) (leads)", {"job"}),
    ("max(leads) without (name)", {"job", "instance"}),
    ("sum(binds_total)", set()),
    ("1 - rate(binds_total[$__rate_interval]) / 2", {"job", "instance", "result"}),
    ('rate(wait_seconds_bucket{le="0.5"}[5m])', {"job", "instance", "queue", "le"}),
    ("histogram_quantile(0.9, sum by (le, queue) (rate(wait_seconds_bucket[5m])))", {"queue"}),
    ("sum by (job) (binds_total) unless on (job) max by (job, name) (leads) > 0", {"job"}),
    ("binds_total * on (job, instance) group_left (name) leads", {"job", "instance", "result", "name"}),
    ("max_over_time(leads[1h:5m]) or absent_over_time(leads[1h])", {"job", "instance", "name"}),
    ("topk(3, leads)  # the first three", {"job", "instance", "name"}),
    ("vector(1) + vector(time())", set()),
    ("up == 0", {"job", "instance"}),
]

WRONG = [
    ("lead", "no metric lead"),
    ("wait_seconds", "no metric wait_seconds"),
    ("leads_count", "no metric leads_count"),
    ('leads{nme="a"}', "matched by nme"),
    ("max by (result) (leads)", "max by result"),
    ("sum by (name) (sum by (job) (leads))", "sum by name"),
    ("rate(leads[5m])", "rate of what may fall"),
    ("increase(sum(binds_total)[5m:])", "increase of what may fall"),
    ('wait_seconds_bucket{le="0.25"}', "no bucket 0.25"),
    ("histogram_quantile(0.9, sum by (queue) (rate(wait_seconds_bucket[5m])))", "by le"),
    ("histogram_quantile(0.9, rate(wait_seconds_sum[5m]))", "by le"),
    ("leads / binds_total", "never matches"),
    ("sum by (job) (binds_total) and leads", "never matches"),
    ("binds_total and on (name) leads", "and on, left name"),
    ("leads unless on (result) max by (job) (binds_total)", "unless on, left result"),
    ("binds_total * on (job) group_left (color) leads", "group_left color"),
    ("sum(1)", "of a number"),
    ("leads{", "expected"),
    ("leads)", "not PromQL"),
    ("leads ; up", "not PromQL"),
    ("sum by (job (leads)", "expected ,"),
    ("leads[5]", "expected duration"),
]


@pytest.mark.parametrize(("query", "labels"), RIGHT)
def test_what_is_right_gives_its_labels(query, labels):
    assert Reader(query, METRICS).read().labels == labels


@pytest.mark.parametrize(("query", "what"), WRONG)
def test_what_is_wrong_is_refused(query, what):
    with pytest.raises(Wrong, match=what):
        Reader(query, METRICS).read()


def test_a_number_has_no_labels():
    assert Reader("time() - 1", METRICS).read().labels is None
