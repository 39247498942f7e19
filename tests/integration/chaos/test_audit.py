"""`chaosctl audit` on a real etcd whose history was made by hand, one transaction after the other."""

import json

import pytest
from click.testing import CliRunner

from chaos.auditor import Auditor
from chaos.ctl import main
from lockd.ports import Put, Txn
from tests.harness.stored_history import StoredHistory


@pytest.fixture
def store(gateway, prefix):
    """A node, two pods, and a leader that has bound the first."""
    store = StoredHistory(gateway, prefix)
    store.node("n1", cpu="2")
    store.pod("p1")
    store.pod("p2")
    store.token = store.acquire("A")
    store.bind("p1", "n1")
    return store


@pytest.fixture
def audit(etcd, prefix):
    def audit(*words, form="json", endpoints=None):
        where = ",".join(endpoints or etcd.endpoints)
        return CliRunner().invoke(main, ["audit", "--endpoints", where, "--prefix", prefix, "-o", form, *words])

    return audit


def test_a_faultless_history_passes(store, audit):
    store.bind("p2", "n1")
    store.release()
    result = audit("--wait", "5s")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert (document["from_revision"], document["incomplete"], document["violations"]) == (1, False, [])
    assert document["terms"] == [
        {"token": store.token, "identity": "A", "since_revision": store.token, "until_revision": store.revision}
    ]
    assert document["pods"]["bound"] == 2


def test_a_stale_write_fails(store, audit, prefix):
    successor = store.acquire("B")
    store.bind("p2", "n1", token=store.token)
    result = audit()
    assert result.exit_code == 4
    (violation,) = json.loads(result.stdout)["violations"]
    assert violation.pop("message")
    assert violation == {
        "check": "stale-token",
        "revision": store.revision,
        "key": f"{prefix}/pods/default/p2",
        "token": store.token,
        "term_token": successor,
    }
    assert "FAILED: 1 violation" in audit(form="table").stdout


def test_a_lost_pod_is_a_violation_only_after_waiting(store, audit):
    result = audit()
    assert result.exit_code == 0
    assert json.loads(result.stdout)["pods"]["lost"] == 1
    result = audit("--wait", "100ms", form="yaml")
    assert result.exit_code == 4
    assert "check: lost-pod" in result.stdout


def test_writes_under_another_prefix_are_not_judged(store, audit, gateway, prefix):
    store.bind("p2", "n1")
    StoredHistory(gateway, f"{prefix}-other").bind("p1", "n9", token=1)
    result = audit()
    assert result.exit_code == 0
    assert json.loads(result.stdout)["pods"]["bound"] == 2


def test_an_empty_history_is_not_judged(audit):
    result = audit()
    assert result.exit_code == 4
    document = json.loads(result.stdout)
    assert (document["incomplete"], document["terms"], document["violations"]) == (True, [], [])


def test_kubernetes_data_is_left_alone(gateway, prefix, audit):
    gateway.txn(Txn(compares=(), then=(Put(f"{prefix}/pods/default/web", b"k8s\0..."),)), timeout=10.0)
    result = audit()
    assert result.exit_code == 2
    assert "holds Kubernetes' data" in result.stderr


def test_an_etcd_that_does_not_answer_is_one_line(audit):
    result = audit("--command-timeout", "300ms", endpoints=["127.0.0.1:1"])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert "127.0.0.1:1" in result.stderr


def test_a_watch_that_is_there_from_the_beginning_sees_what_comes(store, gateway, prefix):
    with Auditor(gateway, prefix) as auditor:
        before = auditor.history(within=30.0)
        bound = store.bind("p2", "n1")
        gone = store.delete("pods/default/p1")
        after = auditor.history(within=30.0)
        assert auditor.stamp(bound).now <= auditor.stamp(gone).now
    assert [change.revision for change in after.changes[len(before.changes) :]] == [bound, gone]
    assert after.changes[-1].created < bound
    assert sorted(after.final()) == sorted(set(before.final()) - {"pods/default/p1"})


def test_a_large_history_is_read_whole(gateway, prefix, audit):
    store = StoredHistory(gateway, prefix)
    values = {f"events/default/0-{number}": b"\x12\x02{}" + b"\x22\x80\x40" + bytes(8192) for number in range(100)}
    for _ in range(12):
        store.commit(values)
    with Auditor(gateway, prefix) as auditor:
        assert len(auditor.history(within=60.0).changes) == 1200
