"""What commands show that nobody has stored: the state of budgets, the system's classes."""

from __future__ import annotations

import json

import pytest

from lockd.ports import KeyValue
from replica.api import codec
from replica.api.codec import decode, encode
from replica.api.drafts import Draft, to_manifest
from replica.api.kinds import DISRUPTION_BUDGET, POD, PRIORITY_CLASS
from replica.ctl.completing import complete
from replica.ctl.describing import describe
from replica.ctl.getting import find, lines
from replica.ctl.store import ObjectStore
from replica.ctl.targets import Target
from tests.harness.clock import ManualClock
from tests.harness.fake_etcd import FakeEtcd

NOW = 1_767_225_600.0


@pytest.fixture
def etcd():
    made = FakeEtcd()
    yield made
    made.close()


@pytest.fixture
def store(etcd):
    return ObjectStore(etcd, prefix="/lockd", clock=ManualClock(), timeout=1.0)


def put(etcd, kind, name, document, *, node=""):
    full = {"metadata": {"name": name, **document.pop("metadata", {})}, **document}
    space = "default/" if kind.namespaced else ""
    etcd.put(f"/lockd/{kind.plural}/{space}{name}", encode(json.dumps(full).encode(), node=node))


def shown(store, kind, *names):
    target = Target(kind, names)
    return complete(find(store, target, "default"), target, store)


def test_the_state_of_a_budget_is_worked_out(etcd, store):
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}
    put(etcd, DISRUPTION_BUDGET, "b", {"spec": {"minAvailable": "50%", "selector": selector}})
    for name in "pqr":
        put(etcd, POD, name, {"metadata": {"labels": {"app": "web"}}, "spec": {}}, node="n" if name < "r" else "")
    found = shown(store, DISRUPTION_BUDGET)
    (row,) = lines(found, now=NOW, wide=False, namespaces=False, headers=False, prefixed=False)
    assert row.split()[:4] == ["b", "50%", "N/A", "0"]
    status = found.objects[0].manifest["status"]
    assert (status["expectedPods"], status["desiredHealthy"], status["currentHealthy"]) == (3, 2, 2)
    told = describe(found.objects[0], events=(), pods=(), now=NOW)
    assert [line.split() for line in told[2:-1]] == [
        ["Min", "available:", "50%"],
        ["Selector:", "app=web,x", "DoesNotExist"],
        ["Status:"],
        ["Allowed", "disruptions:", "0"],
        ["Current:", "2"],
        ["Desired:", "2"],
        ["Total:", "3"],
    ]
    # Applied as it was shown, it says what it said.
    draft = Draft.of(DISRUPTION_BUDGET, found.objects[0].manifest)
    assert "status" not in draft.document


def test_the_systems_classes_are_always_there(etcd, store):
    put(etcd, PRIORITY_CLASS, "high", {"value": 7, "description": "mine"})
    assert [each.object.name for each in shown(store, PRIORITY_CLASS).objects] == [
        "high",
        "system-cluster-critical",
        "system-node-critical",
    ]
    found = shown(store, PRIORITY_CLASS, "system-node-critical", "gone")
    assert [each.object.value for each in found.objects] == [2_000_001_000]
    assert found.problems == ('Error from server (NotFound): priorityclasses.scheduling.k8s.io "gone" not found',)
    (high,) = shown(store, PRIORITY_CLASS, "high").objects
    told = describe(high, events=(), pods=(), now=NOW)
    assert [line.split() for line in told[1:5]] == [
        ["Value:", "7"],
        ["GlobalDefault:", "false"],
        ["PreemptionPolicy:", "PreemptLowerPriority"],
        ["Description:", "mine"],
    ]
    put(etcd, PRIORITY_CLASS, "system-node-critical", {"value": 2_000_001_000})
    assert len(shown(store, PRIORITY_CLASS).objects) == 3


def test_a_marked_pod_reads_back_and_can_be_applied(etcd):
    put(etcd, POD, "p", {"spec": {"containers": [{"name": "c"}]}}, node="n")
    kv = etcd.get("/lockd/pods/default/p")

    value = codec.marked(kv.value, 4, scheduler="s", at="2026-01-01T00:00:00Z", ends="2026-01-01T00:00:31Z", grace=30)
    kv = KeyValue(kv.key, value, 9, 3)
    found = to_manifest(POD, kv)
    assert found["status"]["conditions"][0]["reason"] == "PreemptionByScheduler"
    draft = Draft.of(POD, found)
    assert "status" not in draft.document
    # Who applies the manifest that it was made of brings it back to life no more than kubectl does.
    before = Draft.of(POD, {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}})
    again = decode(POD, KeyValue(kv.key, before.updated(kv), 10, 3))
    assert (again.deleting, again.ends, again.labels) == (True, "2026-01-01T00:00:31Z", {"a": "b"})
