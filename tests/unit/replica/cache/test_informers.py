"""All informers behind one watch: the barrier that a new leader waits for."""

from __future__ import annotations

import threading

import pytest

from component.clock import SystemClock
from component.lifecycle import Group
from lockd.errors import Unavailable
from replica.api.kinds import EVENT, NODE, POD
from replica.cache.informers import READ, Informers
from replica.cache.listener import Handlers
from replica.cache.metrics import processing_latency
from tests.harness.fake_etcd import FakeEtcd
from tests.harness.stored import PREFIX, node_key, node_value, pod_key, pod_value
from tests.harness.wait import eventually

TERM = f"{PREFIX}/terms/kube-system/kube-scheduler"
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
    assert made.failure is None


@pytest.fixture
def informers(etcd, group):
    made = Informers(etcd, PREFIX, group=group)
    yield made
    group.request_stop()
    made.close()


def synced(informers):
    informers.start()
    assert informers.wait_for_sync(STOP, 10)
    eventually(lambda: informers.hub._watch, within=10, what="the watch that follows the list")
    return informers


def test_there_is_one_informer_for_each_kind_and_none_for_events(informers):
    assert informers.informer(POD) is informers.pods
    assert informers.informer(NODE) is informers.nodes
    with pytest.raises(KeyError):
        informers.informer(EVENT)


def test_the_caches_hold_what_etcd_holds(etcd, informers):
    etcd.put(node_key("n"), node_value("n"))
    etcd.put(pod_key("a"), pod_value("a", node="n"))
    etcd.put(pod_key("done"), pod_value("done", phase="Succeeded"))
    synced(informers)
    assert informers.has_synced
    assert informers.problem() is None
    assert [node.name for node in informers.nodes.lister.list()] == ["n"]
    assert [(pod.name, pod.node) for pod in informers.pods.lister.list()] == [("a", "n")]


def test_before_it_has_synced_it_says_what_is_missing(etcd, informers):
    assert informers.problem() == "the first list is not complete"
    etcd.failure = Unavailable("nobody there")
    informers.start()
    eventually(lambda: "nobody there" in informers.problem(), within=10)
    etcd.failure = None
    assert informers.wait_for_sync(STOP, 10)
    assert informers.problem() is None


def test_threads_are_one_for_hub_and_audit_each_one_a_kind_and_one_a_listener(informers, group):
    informers.pods.add_handler(Handlers(), name="queue")
    synced(informers)
    informers.start()
    assert len(group.alive) == 2 + len(READ) + 1
    group.request_stop()
    informers.close()
    assert group.join(30) == ()
    assert group.alive == ()


# --- P8


def test_p8_a_listener_that_is_held_back_holds_the_barrier(etcd, informers):
    """That the hub has seen the token is not enough: one listener, a second late, keeps the barrier shut."""
    clock, let_go, begun, told = SystemClock(), threading.Event(), threading.Event(), []

    def add(pod):
        begun.set()
        let_go.wait(30)
        told.append(pod.name)

    informers.pods.add_handler(Handlers(add=add), name="slow", barrier=True)
    informers.nodes.add_handler(Handlers(), name="quick", barrier=True)
    synced(informers)
    etcd.put(pod_key("a"), pod_value("a", node="n"))
    token = etcd.put(TERM, b"mine")
    assert begun.wait(30)
    eventually(lambda: informers.barrier.behind(token) == {"pods slow": informers.pods._listeners[0].passed}, within=10)
    before = clock.now()
    assert not informers.barrier.wait(token, STOP, 1.0)
    assert clock.now() - before >= 1.0
    assert told == []
    let_go.set()
    assert informers.barrier.wait(token, STOP, 10)
    assert told == ["a"]


def test_p8_a_cache_that_is_held_back_holds_the_barrier(etcd, informers):
    synced(informers)
    with informers.pods.indexer.lock:
        etcd.put(pod_key("a"), pod_value("a", node="n"))
        token = etcd.put(TERM, b"mine")
        eventually(lambda: list(informers.barrier.behind(token)) == ["cache pods"], within=10)
        assert not informers.barrier.wait(token, STOP, 0.05)
    assert informers.barrier.wait(token, STOP, 10)
    assert informers.pods.lister.get("a", "default")


def test_p8_a_listener_that_scheduling_does_not_read_holds_nothing(etcd, informers):
    let_go = threading.Event()
    informers.pods.add_handler(Handlers(add=lambda _: let_go.wait(30)), name="metrics")
    synced(informers)
    etcd.put(pod_key("a"), pod_value("a"))
    assert informers.barrier.wait(etcd.put(TERM, b"mine"), STOP, 10)
    let_go.set()


def test_p8_a_list_made_anew_after_the_token_opens_it(etcd, informers):
    synced(informers)
    etcd.watch_now.hold()
    etcd.put(pod_key("a"), pod_value("a", node="n"))
    token = etcd.put(TERM, b"mine")
    etcd.put(pod_key("b"), pod_value("b"))
    assert not informers.barrier.wait(token, STOP, 0.05)
    etcd.watch_now.drop()
    etcd.break_watch()
    assert informers.barrier.wait(token, STOP, 10)
    assert informers.pods.lister.get("a", "default").node == "n"


def test_p8_when_it_does_not_open_in_time_the_watch_goes_to_another_member(etcd, informers):
    synced(informers)
    watch = etcd.watch_now
    watch.hold()
    token = etcd.put(TERM, b"mine")
    assert not informers.wait_for(token, STOP, reopen_after=0.05, timeout=0.05)
    assert watch.reopened == 0
    assert not informers.wait_for(token, STOP, reopen_after=0.05, timeout=0.1)
    assert watch.reopened == 1
    watch.lagging = True
    assert informers.wait_for(token, STOP, reopen_after=0.05, timeout=30)
    assert watch.reopened == 2


def test_p8_a_late_handler_joins_what_the_barrier_waits_for(etcd, informers):
    synced(informers)
    etcd.put(pod_key("a"), pod_value("a"))
    told, let_go = [], threading.Event()
    informers.pods.add_handler(
        Handlers(add=lambda pod: (let_go.wait(30), told.append(pod.name))), name="late", barrier=True
    )
    token = etcd.put(TERM, b"mine")
    assert not informers.barrier.wait(token, STOP, 0.05)
    let_go.set()
    assert informers.barrier.wait(token, STOP, 10)
    assert told == ["a"]


def test_other_segments_can_have_a_route(etcd, group):
    seen = []

    class Route:
        def replace(self, kvs, revision):
            seen.append([kv.value for kv in kvs])

        def apply(self, events):
            seen.append([event.value for event in events])

        def mark(self, revision):
            return

    informers = Informers(etcd, PREFIX, group=group)
    informers.route("terms", Route())
    etcd.put(TERM, b"theirs")
    synced(informers)
    assert informers.barrier.wait(etcd.put(TERM, b"mine"), STOP, 10)
    assert seen == [[b"theirs"], [b"mine"]]
    group.request_stop()
    informers.close()


def test_metrics_say_for_each_kind_how_far_its_store_is_and_what_waits(etcd, informers):
    etcd.put(pod_key("a"), pod_value("a"))
    synced(informers)
    revisions = {labels["resource"]: (value, labels) for value, labels in informers._metrics._revisions()}
    assert set(revisions) == {kind.plural for kind in READ}
    assert {value for value, _ in revisions.values()} == {etcd.revision}
    assert revisions["priorityclasses"][1] == {
        "name": "kube-scheduler",
        "group": "scheduling.k8s.io",
        "version": "v1",
        "resource": "priorityclasses",
    }
    assert {value for value, _ in informers._metrics._queued()} == {0}
    (series,) = [point for point in processing_latency().points() if point.labels[3] == "pods"]
    assert sum(series.counts) >= 1
