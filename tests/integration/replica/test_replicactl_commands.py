"""`replicactl`'s commands on nodes, events and locks, on a real etcd: what they print and write, their exit codes."""

from __future__ import annotations

import json
import threading

import pytest
from click.testing import CliRunner

from lockd.candidate import Candidate
from lockd.observed import Switchover
from lockd.ports import LockName, Put, Txn
from lockd.record import HistoryEntry, LeaderRecord, TermValue, encode_history
from replica.api.codec import bound, decode, encode, with_status
from replica.api.events import Event, Reference
from replica.api.kinds import NODE, POD
from replica.api.status import SCHEDULING_GATED, unschedulable
from replica.ctl.main import main
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

AT = "2026-01-31T12:00:00Z"
OWNED = "ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, uid: u, controller: true}]"

NODES = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {zone: a}}, status: {capacity: {cpu: 4, pods: 10}}}
- {apiVersion: v1, kind: Node, metadata: {name: n2, labels: {zone: b}}, status: {capacity: {cpu: 4, pods: 10}}}
"""


def pod(name, *, on="", metadata=OWNED, spec="", labels="{app: web}"):
    node = f", nodeName: {on}" if on else ""
    return (
        f"---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {labels}, {metadata}}}\n"
        f"spec: {{containers: [{{name: c, resources: {{requests: {{cpu: 1}}}}}}]{node}{spec}}}\n"
    )


@pytest.fixture
def ctl(etcd, prefix):
    def run(*words, stdin=None, code=0):
        connected = ["--endpoints", ",".join(etcd.connection.endpoints), "--prefix", prefix]
        found = CliRunner().invoke(main, [words[0], *connected, *words[1:]], input=stdin)
        assert found.exit_code == code, (found.exit_code, found.output, found.exception)
        assert "Traceback" not in found.output
        return found

    return run


@pytest.fixture
def cluster(ctl):
    ctl("apply", "-f", "-", stdin=NODES)
    return ctl


@pytest.fixture
def read(gateway, prefix):
    def one(kind, name, namespace="default"):
        path = f"{namespace}/{name}" if kind.namespaced else name
        found = gateway.range(f"{prefix}/{kind.plural}/{path}", timeout=5).kvs
        return decode(kind, found[0]) if found else None

    return one


# --- nodes ---


def test_cordon_and_uncordon(cluster, read):
    assert cluster("cordon", "n1", "--dry-run").stdout == "node/n1 cordoned (dry run)\n"
    assert not read(NODE, "n1").unschedulable
    assert cluster("cordon", "n1").stdout == "node/n1 cordoned\n"
    assert cluster("cordon", "node/n1").stdout == "node/n1 already cordoned\n"
    assert (read(NODE, "n1").unschedulable, read(NODE, "n1").token) == (True, 0)
    assert "Ready,SchedulingDisabled" in cluster("get", "nodes", "n1").stdout
    assert cluster("uncordon", "-l", "zone in (a,b)").stdout.splitlines() == [
        "node/n1 uncordoned",
        "node/n2 already uncordoned",
    ]
    assert cluster("cordon", "n9", code=1).stderr == 'Error from server (NotFound): nodes "n9" not found\n'
    assert cluster("cordon", "-l", "zone=z").stderr == "No resources found\n"


def test_taints(cluster, read):
    assert cluster("taint", "nodes", "n1", "dedicated=batch:NoSchedule", "old:NoExecute").stdout == "node/n1 tainted\n"
    assert [str(each) for each in read(NODE, "n1").taints] == ["dedicated=batch:NoSchedule", "old:NoExecute"]
    again = cluster("taint", "nodes", "n1", "dedicated=web:NoSchedule", code=1)
    assert (
        again.stderr
        == "error: node/n1: it has taint dedicated:NoSchedule with another value: say --overwrite to replace it\n"
    )
    assert (
        cluster("taint", "nodes", "n1", "dedicated=web:NoSchedule", "old-", "--overwrite").stdout
        == "node/n1 modified\n"
    )
    assert [str(each) for each in read(NODE, "n1").taints] == ["dedicated=web:NoSchedule"]
    assert cluster("taint", "node/n1", "dedicated:NoSchedule-").stdout == "node/n1 untainted\n"
    assert read(NODE, "n1").taints == ()
    assert 'taint "dedicated" not found' in cluster("taint", "nodes", "n1", "dedicated-", code=1).stderr
    assert cluster("taint", "nodes", "--all", "x:NoSchedule").stdout.splitlines() == [
        "node/n1 tainted",
        "node/n2 tainted",
    ]


def test_drain(cluster, read):
    daemon = OWNED.replace("ReplicaSet", "DaemonSet")
    cluster(
        "apply",
        "-f",
        "-",
        stdin=pod("web", on="n1")
        + pod("daemon", on="n1", metadata=daemon)
        + pod("bare", on="n1", metadata="annotations: {}")
        + pod("cache", on="n1", spec=", volumes: [{name: v, emptyDir: {}}]")
        + pod("other", on="n2")
        + pod("waits"),
    )
    refused = cluster("drain", "n1", code=1)
    assert refused.stdout == "node/n1 cordoned\n"
    assert [line.split(" (use")[0] for line in refused.stderr.splitlines()] == [
        f"error: unable to drain node/n1: cannot delete {what}"
        for what in ("DaemonSet-managed Pods", "Pods with local storage", "Pods that declare no controller")
    ]
    assert read(POD, "web") is not None
    words = ("drain", "n1", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--grace-period=30")
    dry = cluster(*words, "--dry-run")
    assert "evicting pod default/web (dry run)" in dry.stdout
    assert read(POD, "web") is not None
    done = cluster(*words)
    assert done.stdout.splitlines() == [
        "node/n1 already cordoned",
        "pod/bare evicted",
        "pod/cache evicted",
        "pod/web evicted",
        "node/n1 drained",
    ]
    assert done.stderr.splitlines() == [
        "Warning: ignoring DaemonSet-managed Pods: default/daemon",
        "Warning: deleting Pods with local storage: default/cache",
        "Warning: deleting Pods that declare no controller: default/bare",
    ]
    assert [read(POD, name) is not None for name in ("web", "bare", "cache", "daemon", "other", "waits")] == [
        False, False, False, True, True, True,
    ]  # fmt: skip


def test_a_drain_waits_for_a_disruption_budget(cluster, read):
    budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b}\n"
    budget += "spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}\n"
    cluster("apply", "-f", "-", stdin=budget + pod("a", on="n1") + pod("b", on="n1") + pod("c", on="n2"))
    late = cluster("drain", "n1", "--timeout", "100ms", code=3)
    assert late.stdout.splitlines() == ["node/n1 cordoned", "pod/a evicted"]
    assert late.stderr.splitlines() == [
        "cannot evict pod default/b: it would violate disruption budget b (will retry)",
        "error: node/n1 isn't drained: disruption budget b still keeps pods on it",
    ]
    # Somebody makes the pod anew while a drain waits.
    found = {}
    drain = threading.Thread(target=lambda: found.update(done=cluster("drain", "n1", "--timeout", "60s")))
    cluster("apply", "-f", "-", stdin=pod("a", on="n2"))
    drain.start()
    drain.join(60.0)
    assert found["done"].stdout.splitlines()[-2:] == ["pod/b evicted", "node/n1 drained"]
    assert read(POD, "a").node == "n2"
    cluster("apply", "-f", "-", stdin=pod("d", on="n1"))
    assert "pod/d evicted" in cluster("drain", "n1", "--disable-eviction").stdout


# --- looking ---


def told(gateway, prefix, name, **fields):
    event = Event(
        name=name,
        namespace="default",
        time=AT,
        created=AT,
        regarding=Reference(kind="Pod", namespace="default", name=fields.pop("about")),
        controller="default-scheduler",
        **fields,
    )
    gateway.txn(Txn((), (Put(f"{prefix}/events/default/{name}", encode(event.manifest(), token=7)),)), timeout=5)


def test_describe(cluster, gateway, prefix):
    cluster("apply", "-f", "-", stdin=pod("web", on="n1") + pod("waits", spec=", schedulingGates: [{name: wait}]"))
    told(gateway, prefix, "7-1", about="web", reason="Scheduled", note="Successfully assigned default/web to n1")
    told(gateway, prefix, "7-2", about="other", reason="Scheduled", note="not about web")
    lines = cluster("describe", "pod", "web").stdout.splitlines()
    shown = {line.partition(":")[0]: line.partition(":")[2].strip() for line in lines if not line.startswith(" ")}
    assert (shown["Name"], shown["Namespace"], shown["Node"], shown["Status"]) == ("web", "default", "n1", "Scheduled")
    assert (shown["Controlled By"], shown["Requests"], shown["Written By"]) == (
        "ReplicaSet/r",
        "cpu: 1",
        "a user's tool",
    )
    assert lines[-1].split(maxsplit=4)[1:4:2] == ["Scheduled", "default-scheduler"]
    assert "not about web" not in "\n".join(lines)
    assert "Scheduling Gates: wait" in cluster("describe", "pod/waits").stdout
    node = cluster("describe", "nodes", "n1").stdout
    assert "Non-terminated Pods:  (1 in total)" in node
    (cpu,) = [line.split() for line in node.splitlines() if line.split()[:1] == ["cpu"]]
    assert cpu == ["cpu", "1", "(25%)", "4"]
    assert cluster("describe", "pod", "nope", code=1).stderr == 'Error from server (NotFound): pods "nope" not found\n'
    assert cluster("describe", "pods", "-n", "shop").stderr == "No resources found in shop namespace.\n"


def test_events(cluster, gateway, prefix):
    told(gateway, prefix, "7-1", about="web", reason="Scheduled", note="yes")
    told(gateway, prefix, "7-2", about="big", reason="FailedScheduling", note="no", type="Warning")
    assert len(cluster("events").stdout.splitlines()) == 3
    assert [line.split()[2] for line in cluster("events", "--for", "pod/web", "--no-headers").stdout.splitlines()] == [
        "Scheduled"
    ]
    assert cluster("events", "--types", "Warning", "-o", "name").stdout == "event.events.k8s.io/7-2\n"
    assert len(json.loads(cluster("events", "-A", "-o", "json").stdout)["items"]) == 2
    assert cluster("events", "-n", "shop").stderr == "No resources found in shop namespace.\n"


def test_selecting_by_fields_and_sorting(cluster):
    cluster("apply", "-f", "-", stdin=pod("a", on="n2") + pod("b", on="n1") + pod("c"))
    names = cluster("get", "pods", "--field-selector", "spec.nodeName=n1", "-o", "name").stdout
    assert names == "pod/b\n"
    assert (
        cluster("get", "pods", "--field-selector", "spec.nodeName=,status.phase=Pending", "-o", "name").stdout
        == "pod/c\n"
    )
    order = cluster("get", "pods", "--sort-by", "{.spec.nodeName}", "-o", "name").stdout.split()
    assert order == ["pod/c", "pod/b", "pod/a"]
    assert cluster("get", "pods", "a", "nope", "--ignore-not-found", "-o", "name").stdout == "pod/a\n"
    assert cluster("delete", "pods", "--field-selector", "spec.nodeName=n1", "-o", "name").stdout == "pod/b\n"
    assert cluster("delete", "pods", "-A", "--all", "--dry-run").stdout.splitlines()[0] == 'pod "a" deleted (dry run)'
    assert len(cluster("get", "pods", "-A", "--no-headers").stdout.splitlines()) == 2


def test_a_gated_pod_shows_why(cluster, gateway, prefix):
    cluster("apply", "-f", "-", stdin=pod("gated", spec=", schedulingGates: [{name: wait}]"))
    (kv,) = gateway.range(f"{prefix}/pods/default/gated", timeout=5).kvs
    gated = with_status(kv.value, unschedulable("", at=AT, reason=SCHEDULING_GATED), 7)
    gateway.txn(Txn((), (Put(kv.key, gated),)), timeout=5)
    assert cluster("get", "pods", "--no-headers").stdout.split()[2] == "SchedulingGated"


def test_wait(cluster, gateway, prefix):
    cluster("apply", "-f", "-", stdin=pod("a", on="n1") + pod("b"))
    assert cluster("wait", "pod/a", "--for=jsonpath={.spec.nodeName}=n1").stdout == "pod/a condition met\n"
    assert cluster("wait", "pods", "--all", "--for=create").stdout.splitlines() == ["pod/a created", "pod/b created"]
    assert cluster("wait", "pod/gone", "--for=delete").stdout == "pod/gone deleted\n"
    late = cluster("wait", "pod/b", "--for=condition=PodScheduled", "--timeout=100ms", code=3)
    assert late.stderr == "error: timed out waiting for the condition on pods/b\n"
    missing = cluster("wait", "pod/nope", "--for=condition=Ready", code=1)
    assert missing.stderr == 'Error from server (NotFound): pods "nope" not found\n'
    assert cluster("wait", "pods", "-l", "app=none", "--for=condition=Ready", code=1).stderr == (
        "error: no matching resources found\n"
    )
    found = {}
    waiter = threading.Thread(
        target=lambda: found.update(done=cluster("wait", "pod/b", "--for=condition=PodScheduled", "--timeout=60s"))
    )
    waiter.start()
    (kv,) = gateway.range(f"{prefix}/pods/default/b", timeout=5).kvs
    gateway.txn(Txn((), (Put(kv.key, bound(kv.value, "n1", 7, at=AT)),)), timeout=5)
    waiter.join(60.0)
    assert found["done"].stdout == "pod/b condition met\n"


# --- the lock ---


@pytest.fixture
def lock(prefix):
    return LockName(prefix, "kube-system", "kube-scheduler")


@pytest.fixture
def lead(gateway, lock):
    """Have somebody lead and others stand by."""

    def run(identity, *standbys):
        record = LeaderRecord(holder_identity=identity, renew_time=AT, takeover="release")
        history = encode_history((HistoryEntry(identity=identity, since=AT, takeover="release"),))
        puts = [
            Put(lock.lease, record.encode()),
            Put(lock.term, TermValue(identity, identity).encode()),
            Put(lock.history, history),
        ]
        puts += [
            Put(lock.candidates + name, Candidate(identity=name, hostname="h", pid=1, since=AT).encode())
            for name in (identity, *standbys)
        ]
        return gateway.txn(Txn((), tuple(puts)), timeout=5).revision

    return run


def wish(gateway, lock):
    found = gateway.range(lock.switchover, timeout=5).kvs
    return Switchover.parse(found[0].value) if found else None


def test_switchover_waits_for_the_new_leader(ctl, gateway, lock, lead):
    token = lead("a_1", "b_2", "c_3")
    found = {}
    asking = threading.Thread(
        target=lambda: found.update(done=ctl("switchover", "--candidate", "c_", "--timeout", "60s"))
    )
    asking.start()
    eventually(lambda: wish(gateway, lock) == Switchover("c_3", token), within=30.0)
    successor = lead("c_3", "b_2")
    asking.join(60.0)
    assert found["done"].stdout == f"c_3 leads (token {successor}), after a_1 (token {token})\n"
    assert found["done"].stderr == f"asked a_1 (token {token}) to hand over to c_3\n"


def test_switchover_to_somebody_else_than_asked(ctl, gateway, lock, lead):
    token = lead("a_1", "b_2", "c_3")
    found = {}
    asking = threading.Thread(target=lambda: found.update(done=ctl("switchover", "--candidate", "c_3", code=1)))
    asking.start()
    eventually(lambda: wish(gateway, lock) == Switchover("c_3", token), within=30.0)
    successor = lead("b_2")
    asking.join(60.0)
    assert found["done"].stderr.splitlines()[-1] == (
        f"error: b_2 leads (token {successor}), not c_3, which was asked for"
    )


def test_switchover_refuses(ctl, gateway, lock, lead):
    assert "nobody leads kube-system/kube-scheduler" in ctl("switchover", code=1).stderr
    token = lead("a_1")
    assert "no replica stands by" in ctl("switchover", code=1).stderr
    lead("a_1", "b_2", "b_3")
    assert "a_1 leads already" in ctl("switchover", "--candidate", "a_1", code=1).stderr
    assert '"b_" is the beginning of several names' in ctl("switchover", "--candidate", "b_", code=1).stderr
    assert '"x" doesn\'t stand by: those that do are b_2, b_3' in ctl("switchover", "--candidate", "x", code=1).stderr
    assert wish(gateway, lock) is None
    late = ctl("switchover", "--timeout", "100ms", code=3)
    assert "no new leader stands after 0.1 s" in late.stderr
    assert wish(gateway, lock).token > token


def test_history(ctl, lead):
    assert "No terms found for kube-system/kube-scheduler" in ctl("history").stderr
    token = lead("a_1")
    (term,) = json.loads(ctl("history", "-o", "json").stdout)["terms"]
    assert (term["holderIdentity"], term["fencingToken"]) == ("a_1", token)
    assert ctl("history").stdout.splitlines()[1].split()[:2] == [str(token), "a_1"]
