"""The cache audit finds what a watch has lost, and nothing else."""

from __future__ import annotations

import threading

import pytest

from component.lifecycle import Group
from lockd.errors import HistoryLost, Unavailable
from replica.cache.audit import CacheAudit
from replica.cache.informers import Informers
from tests.harness.clock import ManualClock
from tests.harness.fake_etcd import FakeEtcd
from tests.harness.stored import PREFIX, node_key, node_value, pod_key, pod_value
from tests.harness.wait import eventually

STOP = threading.Event()


@pytest.fixture
def etcd():
    return FakeEtcd()


@pytest.fixture
def group():
    made = Group("test")
    yield made
    made.request_stop()
    assert made.join(30) == ()


@pytest.fixture
def informers(etcd, group):
    made = Informers(etcd, PREFIX, group=group)
    etcd.put(node_key("n"), node_value("n"))
    for name in "abc":
        etcd.put(pod_key(name), pod_value(name))
    etcd.put(pod_key("done"), pod_value("done", phase="Failed"))
    etcd.put(pod_key("odd"), b"\xff\xff")
    made.audit._respite = 0.05
    made.start()
    assert made.wait_for_sync(STOP, 10)
    eventually(lambda: made.hub._watch, within=10, what="the watch that follows the list")
    yield made
    group.request_stop()
    made.close()


def settle(etcd, informers):
    """A change that everybody sees, so that the caches are as new as any list."""
    assert informers.barrier.wait(etcd.put(node_key("n"), node_value("n")), STOP, 10)


def test_caches_that_are_right_are_left_alone(etcd, informers):
    etcd.delete(pod_key("a"))
    etcd.put(pod_key("b"), pod_value("b", node="n"))
    settle(etcd, informers)
    assert informers.audit.compare(STOP) == ()


def test_p24_a_deletion_that_no_watch_told_is_found(etcd, informers):
    etcd.lose(pod_key("b"))
    settle(etcd, informers)
    assert informers.audit.compare(STOP) == ("pods/default/b",)


def test_a_change_that_no_watch_told_is_found(etcd, informers):
    etcd.watch_now.hold()
    etcd.put(pod_key("b"), pod_value("b", node="n"))
    etcd.watch_now.drop()
    settle(etcd, informers)
    assert informers.audit.compare(STOP) == ("pods/default/b",)


def test_what_changes_after_the_list_is_no_difference(etcd, informers):
    listed = etcd.list

    def list_and_change(prefix, **options):
        found = listed(prefix, **options)
        if prefix.endswith("/pods/"):
            etcd.delete(pod_key("a"))
            etcd.put(pod_key("b"), pod_value("b", node="n"))
            assert informers.barrier.wait(etcd.put(pod_key("new"), pod_value("new")), STOP, 10)
        return found

    etcd.list = list_and_change
    assert informers.audit.compare(STOP) == ()


def test_caches_that_are_behind_the_list_are_not_judged(etcd, informers):
    etcd.watch_now.hold()
    etcd.delete(pod_key("a"))
    stop = threading.Event()
    stop.set()
    assert informers.audit.compare(stop) == ()


def test_p24_after_a_takeover_it_is_asked_for_and_the_caches_are_put_right(etcd, informers, caplog):
    etcd.lose(pod_key("b"))
    settle(etcd, informers)
    assert informers.pods.lister.get("b", "default")
    informers.audit.request()
    eventually(lambda: informers.pods.lister.get("b", "default") is None, within=10)
    eventually(lambda: informers.hub.lists == 2, within=10, what="the list that put them right is complete")
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert "caches differ from etcd" in errors


def test_it_compares_now_and_then(etcd, informers, group):
    clock, compared = ManualClock(), []
    audit = CacheAudit(etcd, PREFIX, informers.hub, {}, clock=clock, draw=lambda: 0.5, period=(2.0, 4.0))
    audit.compare = lambda stop: compared.append(clock.now()) or ()
    group.spawn("another audit", audit.run, group.stop)
    start = clock.now()
    while len(compared) < 2:
        eventually(lambda: any(end > clock.now() for end in clock.waits) or len(compared) == 2, within=10)
        clock.advance(0.5)
    group.request_stop()
    audit.request()
    assert compared == [start + 3, start + 6]


def test_etcd_away_is_no_difference(etcd, informers):
    etcd.failure = Unavailable("no leader")
    informers.audit._try(STOP)
    etcd.failure = None
    assert informers.hub.lists == 1


def test_another_history_ends_the_replica(etcd, informers, group):
    etcd.failure = HistoryLost("restored")
    informers.audit.request()
    eventually(lambda: isinstance(group.failure, HistoryLost), within=10)
