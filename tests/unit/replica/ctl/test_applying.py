from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest

from lockd.errors import OutcomeUnknown
from lockd.ports import Put
from replica.api.codec import bound, decode_pod, encode
from replica.api.manifests import parse_manifests
from replica.ctl.applying import Applier, Refused
from replica.ctl.store import BATCH, BATCH_BYTES, Change, ObjectStore, batches
from tests.harness.clock import ManualClock
from tests.harness.memory_gateway import MemoryGateway

AT = "2026-01-31T12:00:00Z"
PREFIX = "/lockd"


def pods(*names, **labels):
    items = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": labels},
            "spec": {"containers": [{"name": "c"}]},
        }
        for name in names
    ]
    return parse_manifests(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode(), "f")


class HastyClock(ManualClock):
    """Whoever waits finds that the time has passed."""

    def wait(self, stop, seconds):
        self.advance(seconds)
        return stop.is_set()


@pytest.fixture
def etcd():
    return MemoryGateway()


@pytest.fixture
def applier(etcd):
    numbers = itertools.count(1)
    store = ObjectStore(etcd, prefix=PREFIX, timeout=1.0, clock=HastyClock())
    return Applier(store, new_uid=lambda: f"uid-{next(numbers)}", now=AT)


def run(applier, drafts):
    return [(step.draft.name, step.verdict) for step in applier.run(applier.plan(drafts))]


def pod(etcd, name):
    kv = etcd.get(f"{PREFIX}/pods/default/{name}")
    return None if kv is None else decode_pod(kv)


def test_created_unchanged_configured(etcd, applier):
    assert run(applier, pods("a", "b")) == [("a", "created"), ("b", "created")]
    assert (pod(etcd, "a").uid, pod(etcd, "b").uid, pod(etcd, "a").created) == ("uid-1", "uid-2", AT)
    revision = etcd.space.revision
    assert run(applier, pods("a", "b")) == [("a", "unchanged"), ("b", "unchanged")]
    assert etcd.space.revision == revision
    assert run(applier, [*pods("a"), *pods("b", x="1"), *pods("c")]) == [
        ("a", "unchanged"),
        ("b", "configured"),
        ("c", "created"),
    ]
    assert (pod(etcd, "b").uid, pod(etcd, "b").labels) == ("uid-2", {"x": "1"})


def test_a_plan_writes_nothing(etcd, applier):
    assert [step.verdict for step in applier.plan(pods("a"))] == ["created"]
    assert etcd.space.revision == 1


def test_one_conflict_stops_all_of_it(etcd, applier):
    run(applier, pods("b"))
    etcd.put(f"{PREFIX}/pods/default/c", b"garbage")
    (other,) = pods("b")
    other.document["metadata"]["uid"] = "another"
    with pytest.raises(Refused) as caught:
        applier.plan([*pods("a"), other, *pods("c")])
    assert [problem.split(": ")[3] for problem in caught.value.problems] == ["pod/b", "pod/c"]
    assert pod(etcd, "a") is None


def test_a_bind_in_the_meantime_is_kept(etcd, applier):
    run(applier, pods("a"))
    steps = applier.plan(pods("a", x="1"))
    key = f"{PREFIX}/pods/default/a"
    etcd.put(key, bound(etcd.get(key).value, "n1", 7, at=AT))
    assert [step.verdict for step in applier.run(steps)] == ["configured"]
    assert (pod(etcd, "a").node, pod(etcd, "a").labels, pod(etcd, "a").token) == ("n1", {"x": "1"}, 0)


def test_a_bind_in_the_meantime_to_another_node_refuses(etcd, applier):
    run(applier, pods("a"))
    (draft,) = pods("a")
    steps = applier.plan([replace(draft, node="n2")])
    key = f"{PREFIX}/pods/default/a"
    etcd.put(key, bound(etcd.get(key).value, "n1", 7, at=AT))
    with pytest.raises(Refused, match="pod/a: it is bound to n1"):
        list(applier.run(steps))
    assert pod(etcd, "a").node == "n1"


def test_a_rival_that_creates_the_same_is_no_failure(etcd, applier):
    steps = applier.plan(pods("a"))
    (rival,) = pods("a")
    etcd.put(f"{PREFIX}/pods/default/a", rival.created(uid="rival", at=AT))
    assert [step.verdict for step in applier.run(steps)] == ["unchanged"]
    assert pod(etcd, "a").uid == "rival"


def test_a_rival_that_creates_another_is_updated(etcd, applier):
    steps = applier.plan(pods("a", x="1"))
    (rival,) = pods("a")
    etcd.put(f"{PREFIX}/pods/default/a", rival.created(uid="rival", at=AT))
    assert [step.verdict for step in applier.run(steps)] == ["configured"]
    assert (pod(etcd, "a").uid, pod(etcd, "a").labels) == ("rival", {"x": "1"})


def test_a_lost_reply_is_settled_by_a_copy(etcd, applier):
    steps = applier.plan(pods("a", "b"))
    etcd.lose = 1
    assert [step.verdict for step in applier.run(steps)] == ["created", "created"]
    assert etcd.space.revision == 2


def test_a_lost_reply_of_what_was_bound_since(etcd, applier):
    """The copy finds the object neither absent nor as written, but it carries the uid of this very write."""
    steps = applier.plan(pods("a"))
    key = f"{PREFIX}/pods/default/a"

    def bind(_txn):
        kv = etcd.get(key)
        if kv is not None:
            etcd.put(key, bound(kv.value, "n1", 7, at=AT))

    etcd.lose, etcd.before = 1, bind
    assert [step.verdict for step in applier.run(steps)] == ["created"]
    assert (pod(etcd, "a").node, pod(etcd, "a").uid) == ("n1", "uid-1")


def test_an_outcome_that_stays_unknown_is_told(etcd, applier):
    steps = applier.plan(pods("a"))
    etcd.lose = 10**9
    with pytest.raises(OutcomeUnknown):
        list(applier.run(steps))


def test_someone_who_never_stops_writing(etcd, applier):
    run(applier, pods("a"))
    steps = applier.plan(pods("a", x="1"))
    key = f"{PREFIX}/pods/default/a"

    def touch(_txn):
        etcd.put(key, encode(b'{"metadata":{},"spec":{"x":%d}}' % etcd.space.revision))

    etcd.before = touch
    with pytest.raises(Refused, match="pod/a: it changed 10 times"):
        list(applier.run(steps))


def test_many_objects_go_in_few_transactions(etcd, applier):
    names = [f"p{number}" for number in range(2 * BATCH + 1)]
    steps = applier.plan(pods(*names))
    etcd.sent.clear()
    assert [step.draft.name for step in applier.run(steps)] == names
    assert [len(txn.then) for txn in etcd.sent] == [BATCH, BATCH, 1]
    assert all(isinstance(inner.then[0], Put) for txn in etcd.sent for inner in txn.then)


def test_batches_stay_below_what_etcd_takes():
    half = Change("k", 0, b"x" * (BATCH_BYTES // 2))
    huge = Change("k", 0, b"x" * (BATCH_BYTES + 1))
    small = Change("k", 0, None)
    found = list(batches([half, small, half, huge, small]))
    assert [len(batch) for batch in found] == [2, 1, 1, 1]
    assert list(batches([])) == []
