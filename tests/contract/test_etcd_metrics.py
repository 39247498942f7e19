"""etcd's own metrics, as rules and dashboards ask for them, are those of a real one."""

from __future__ import annotations

import urllib.request

from tests.harness.etcd_metrics import ETCD
from tests.harness.golden import scraped

ALONE = {"etcd_network_peer_round_trip_time_seconds"}
"""What a member without others has none of."""


def test_each_metric_that_is_asked_for_is_there(etcd):
    with urllib.request.urlopen(f"http://{etcd.endpoints[0]}/metrics", timeout=30.0) as reply:
        found = scraped(reply.read().decode())
    wanted = {name: metric for name, metric in ETCD.items() if name not in ALONE}
    assert {name: (found[name].type, found[name].labels) for name in wanted} == {
        name: (metric.type, metric.labels) for name, metric in wanted.items()
    }


def test_a_histogram_has_the_buckets_that_are_asked_for(etcd):
    with urllib.request.urlopen(f"http://{etcd.endpoints[0]}/metrics", timeout=30.0) as reply:
        found = scraped(reply.read().decode())
    assert {name: found[name].buckets for name in ETCD if name not in ALONE and ETCD[name].buckets} == {
        name: metric.buckets for name, metric in ETCD.items() if name not in ALONE and metric.buckets
    }
