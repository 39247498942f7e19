"""Taints, drains and budgets, as far as no etcd is needed to decide."""

from __future__ import annotations

import json

import pytest

from lockd.errors import ConfigError, LockdError
from lockd.ports import KeyValue
from replica.api.codec import decode, encode, parse_envelope
from replica.api.drafts import to_manifest
from replica.api.kinds import DISRUPTION_BUDGET, NODE, POD
from replica.ctl.budgets import Budgets
from replica.ctl.draining import Allowed, sort_pods
from replica.ctl.editing import Missing, edit
from replica.ctl.getting import Stored
from replica.ctl.store import ObjectStore
from replica.ctl.tainting import TaintChange, TaintRefused
from tests.harness.clock import ManualClock
from tests.harness.memory_gateway import MemoryGateway

BATCH = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}


def stored(kind, name, document, *, node="", namespace="default"):
    full = {"metadata": {"name": name, **document.pop("metadata", {})}, **document}
    kv = KeyValue(f"/lockd/{kind.plural}/{namespace}/{name}", encode(json.dumps(full).encode(), node=node), 5, 3)
    return Stored(kind, decode(kind, kv), to_manifest(kind, kv))


# --- taints ---


def node(*taints):
    return {"metadata": {"name": "n"}, "spec": {"taints": list(taints)}} if taints else {"metadata": {"name": "n"}}


def taints(manifest):
    return manifest["spec"].get("taints")


@pytest.mark.parametrize(
    ("words", "before", "after"),
    [
        (["dedicated=batch:NoSchedule"], (), [BATCH]),
        (["k:NoExecute"], (BATCH,), [{"key": "k", "effect": "NoExecute"}, BATCH]),
        (["dedicated-"], (BATCH, {**BATCH, "effect": "NoExecute"}), None),
        (["dedicated:NoExecute-"], (BATCH, {**BATCH, "effect": "NoExecute"}), [BATCH]),
        (["dedicated=any:NoSchedule-"], (BATCH,), None),
        (["dedicated=batch:NoExecute"], (BATCH,), [{**BATCH, "effect": "NoExecute"}, BATCH]),
    ],
)
def test_changing_taints(words, before, after):
    manifest = node(*before)
    assert taints(TaintChange.parse(words).on(manifest, overwrite=False)) == after
    assert manifest == node(*before)


def test_a_taint_with_another_value_is_replaced_only_if_asked():
    change = TaintChange.parse(["dedicated=web:NoSchedule"])
    with pytest.raises(TaintRefused, match="dedicated:NoSchedule with another value: say --overwrite"):
        change.on(node(BATCH), overwrite=False)
    assert taints(change.on(node(BATCH), overwrite=True)) == [{**BATCH, "value": "web"}]


def test_a_taint_that_is_there_stays_as_it_is():
    dated = {**BATCH, "timeAdded": "2026-01-31T12:00:00Z"}
    assert TaintChange.parse(["dedicated=batch:NoSchedule"]).on(node(dated), overwrite=False) is None


def test_a_taint_that_is_not_there_cannot_be_removed():
    with pytest.raises(TaintRefused, match='taint "dedicated:NoExecute" not found'):
        TaintChange.parse(["dedicated:NoExecute-"]).on(node(BATCH), overwrite=False)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["k=v"], "has no effect"),
        (["k=v:Never"], 'has the effect "Never"'),
        (["a b:NoSchedule"], 'has a key "a b"'),
        (["k=v w:NoSchedule"], 'has a value "v w"'),
        ([":NoSchedule"], 'has a key ""'),
        (["k:NoSchedule", "k=v:NoSchedule"], "is given twice"),
        (["k:NoSchedule", "k-"], "is both set and removed"),
    ],
)
def test_words_that_are_no_taints(words, told):
    with pytest.raises(ConfigError) as caught:
        TaintChange.parse(words)
    assert told in str(caught.value)


def test_what_a_node_is_called_after_it():
    said = [TaintChange.parse(words).verdict for words in (["a:NoSchedule"], ["a-"], ["a:NoSchedule", "b-"])]
    assert said == ["tainted", "untainted", "modified"]


# --- editing ---


@pytest.fixture
def etcd():
    made = MemoryGateway()
    made.put("/lockd/nodes/n", encode(b'{"metadata":{"name":"n"}}', node="", status=b"{}"))
    return made


@pytest.fixture
def store(etcd):
    return ObjectStore(etcd, prefix="/lockd", timeout=1.0, clock=ManualClock())


def mark(manifest):
    if manifest.get("marked"):
        return None
    return {**manifest, "marked": True}


def standing(etcd, key="/lockd/nodes/n"):
    return to_manifest(NODE, etcd.get(key))


def test_an_edit(etcd, store):
    assert edit(store, NODE, "n", mark, dry_run=True)
    assert "marked" not in standing(etcd)
    assert edit(store, NODE, "n", mark)
    assert standing(etcd)["marked"]
    assert not edit(store, NODE, "n", mark)
    with pytest.raises(Missing, match='nodes "x" not found'):
        edit(store, NODE, "x", mark)


def test_what_others_write_in_the_meantime_is_kept(etcd, store):
    def second(_txn):
        etcd.before = lambda _txn: None
        etcd.put("/lockd/nodes/n", encode(b'{"metadata":{"name":"n","labels":{"a":"b"}}}'))

    def first(_txn):
        etcd.before = second

    etcd.before = first
    assert edit(store, NODE, "n", mark)
    assert standing(etcd)["metadata"]["labels"] == {"a": "b"}
    assert standing(etcd)["marked"]


def test_an_edit_whose_reply_was_lost_counts(etcd, store):
    def lose(txn):
        if txn.then and txn.then[0].__class__.__name__ == "Txn":
            etcd.lose, etcd.before = 1, lambda _txn: None

    etcd.before = lose
    assert edit(store, NODE, "n", mark)
    assert standing(etcd)["marked"]


def test_someone_who_never_stops_writing(etcd, store):
    etcd.before = lambda _txn: etcd.put("/lockd/nodes/n", encode(b'{"metadata":{"name":"n%d"}}' % etcd.space.revision))
    with pytest.raises(LockdError, match="node/n: it changed 10 times"):
        edit(store, NODE, "n", mark)


# --- drains ---


def owner(kind):
    return {"ownerReferences": [{"kind": kind, "name": "o", "controller": True}]}


def pod(name, *, metadata=None, phase="", volumes=(), on="n1", labels=None, ready=None):
    status = {"phase": phase}
    if ready is not None:
        status["conditions"] = [{"type": "Ready", "status": str(ready)}]
    document = {
        "metadata": {"labels": labels or {}, **(metadata if metadata is not None else owner("ReplicaSet"))},
        "spec": {"containers": [{"name": "c"}], "volumes": list(volumes)},
        "status": status,
    }
    return stored(POD, name, document, node=on)


EMPTY_DIR = {"name": "v", "emptyDir": {}}
CASES = [
    ("owned", pod("owned"), "evict", ""),
    ("bare", pod("bare", metadata={}), "refuse", "force"),
    ("not its controller", pod("p", metadata={"ownerReferences": [{"kind": "ReplicaSet"}]}), "refuse", "force"),
    ("an unknown owner", pod("p", metadata=owner("Widget")), "refuse", "force"),
    ("a job's", pod("p", metadata=owner("Job")), "evict", ""),
    ("a daemon", pod("p", metadata=owner("DaemonSet")), "refuse", "ignore_daemon_sets"),
    ("local data", pod("p", volumes=[EMPTY_DIR]), "refuse", "delete_local_data"),
    ("bare and ended", pod("p", metadata={}, phase="Succeeded"), "evict", ""),
    ("local data and ended", pod("p", volumes=[EMPTY_DIR], phase="Failed"), "evict", ""),
    ("a mirror", pod("p", metadata={"annotations": {"kubernetes.io/config.mirror": "x"}}), "leave", ""),
]


@pytest.mark.parametrize(("found", "verdict", "flag"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_which_pods_a_drain_evicts(found, verdict, flag):
    plain = sort_pods([found], Allowed())
    assert (bool(plain.evict) and not plain.problems) == (verdict == "evict")
    assert bool(plain.problems) == (verdict == "refuse")
    if flag:
        allowed = sort_pods([found], Allowed(**{flag: True}))
        assert (allowed.problems, len(allowed.warnings)) == ([], 1)
        assert bool(allowed.evict) == (flag != "ignore_daemon_sets")


def test_all_that_stands_in_the_way_is_told():
    found = sort_pods([pod("a", metadata={}), pod("b", metadata={}), pod("c", volumes=[EMPTY_DIR])], Allowed())
    assert [line.partition(": ")[2] for line in found.problems] == ["default/c", "default/a, default/b"]


# --- budgets ---


def budget(*, labels=None, status=None, namespace="default", **spec):
    document = {"spec": {"selector": {"matchLabels": labels or {"app": "web"}}, **spec}, "status": status or {}}
    return stored(DISRUPTION_BUDGET, "b", document, namespace=namespace)


def web(name, **how):
    return pod(name, labels={"app": "web"}, **how)


@pytest.mark.parametrize(
    ("spec", "evictable"),
    [
        ({"minAvailable": 2}, 2),
        ({"minAvailable": "50%"}, 2),
        ({"minAvailable": "51%"}, 1),
        ({"minAvailable": 4}, 0),
        ({"minAvailable": "0%"}, 4),
        ({"maxUnavailable": 1}, 1),
        ({"maxUnavailable": "25%"}, 1),
        ({"maxUnavailable": "26%"}, 2),
        ({"maxUnavailable": 0}, 0),
        ({"maxUnavailable": "100%"}, 4),
        ({}, 3),
        ({"minAvailable": 2, "labels": {"app": "other"}}, 4),
        ({"minAvailable": 2, "namespace": "shop"}, 4),
        ({"maxUnavailable": 1, "status": {"expectedPods": 5}}, 0),
    ],
)
def test_how_many_of_four_pods_may_go(spec, evictable):
    pods = [web(f"p{number}") for number in range(4)]
    budgets = Budgets()
    budgets.see([budget(**spec)], pods)
    gone = 0
    for each in pods:
        if budgets.refusal(each):
            break
        budgets.evicted(each)
        gone += 1
    assert gone == evictable
    # What is gone is missed when the drain looks again.
    budgets.see([budget(**spec)], pods[gone:])
    assert gone == 4 or budgets.refusal(pods[gone]) == "b"


def test_pods_that_are_not_healthy_go_while_the_others_suffice():
    pods = [web("a"), web("b"), web("sick", ready=False), web("waits", on="")]
    budgets = Budgets()
    budgets.see([budget(minAvailable=2)], pods)
    assert [budgets.refusal(each) for each in pods] == ["b", "b", "", ""]
    budgets.see([budget(minAvailable=3)], pods)
    assert [budgets.refusal(each) for each in pods] == ["b"] * 4


def test_pods_that_ended_are_not_counted():
    pods = [web("a"), web("b"), web("done", phase="Succeeded")]
    budgets = Budgets()
    budgets.see([budget(minAvailable=2)], pods)
    assert budgets.refusal(pods[0]) == "b"
    assert budgets.refusal(pods[2]) == ""


def test_an_edit_keeps_the_node_and_the_status(etcd, store):
    etcd.put("/lockd/pods/default/p", encode(b'{"metadata":{"name":"p"}}', node="n1", status=b'{"conditions":[]}'))
    assert edit(store, POD, "p", mark, namespace="default")
    envelope = parse_envelope("", etcd.get("/lockd/pods/default/p").value)
    assert (envelope.node_name, envelope.status, envelope.fencing_token) == ("n1", b'{"conditions":[]}', 0)
