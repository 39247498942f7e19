"""`replicactl` on a real etcd: what it prints where, its exit codes, and that nothing is half-written."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from lockd.candidate import Candidate
from lockd.etcd.embedded import Embedded
from lockd.ports import LockName, Put, Txn
from lockd.record import LeaderRecord, TermValue
from replica.api.codec import bound, decode_pod, encode
from replica.api.events import Event, Reference
from replica.ctl.main import main
from tests.harness import certs

pytestmark = pytest.mark.etcd

MANIFESTS = """
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {capacity: {cpu: 4, memory: 8Gi, pods: 10}}
---
apiVersion: v1
kind: Pod
metadata: {name: web-1, labels: {app: web}}
spec:
  containers:
  - name: c
    image: nginx
    resources: {requests: {cpu: 100m}}
---
apiVersion: v1
kind: Pod
metadata: {name: db-1, namespace: shop, labels: {app: db}}
spec:
  containers: [{name: c}]
"""


@pytest.fixture
def ctl(etcd, prefix):
    def run(*words, stdin=None, code=0):
        connected = ["--endpoints", ",".join(etcd.connection.endpoints), "--prefix", prefix]
        found = CliRunner().invoke(main, [words[0], *connected, *words[1:]], input=stdin)
        assert found.exit_code == code, found.output
        assert "Traceback" not in found.output
        return found

    return run


def test_apply_get_delete(ctl):
    assert ctl("apply", "-f", "-", "--dry-run", stdin=MANIFESTS).stdout.splitlines() == [
        "node/n1 created (dry run)",
        "pod/web-1 created (dry run)",
        "pod/db-1 created (dry run)",
    ]
    assert ctl("get", "pods", "-A").stderr == "No resources found\n"
    assert ctl("apply", "-f", "-", stdin=MANIFESTS).stdout.splitlines() == [
        "node/n1 created",
        "pod/web-1 created",
        "pod/db-1 created",
    ]
    assert set(ctl("apply", "-f", "-", stdin=MANIFESTS).stdout.split()[1::2]) == {"unchanged"}
    changed = MANIFESTS.replace("nginx", "caddy")
    assert ctl("apply", "-f", "-", stdin=changed).stdout.splitlines()[1] == "pod/web-1 configured"

    table = ctl("get", "pods", "-A").stdout.splitlines()
    assert table[0].split() == ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert [line.split()[:4] for line in table[1:]] == [
        ["default", "web-1", "0/1", "Pending"],
        ["shop", "db-1", "0/1", "Pending"],
    ]
    assert ctl("get", "pods", "-n", "shop", "-o", "name").stdout == "pod/db-1\n"
    assert ctl("get", "pods", "-A", "-l", "app in (db)", "--no-headers").stdout.split()[:2] == ["shop", "db-1"]
    assert ctl("get", "nodes", "n1", "-o", "wide").stdout.splitlines()[1].split()[-2:] == ["4", "8Gi"]

    assert ctl("delete", "pods", "web-1").stdout == 'pod "web-1" deleted\n'
    assert ctl("delete", "pods", "web-1", code=1).stderr == 'Error from server (NotFound): pods "web-1" not found\n'
    assert ctl("delete", "-f", "-", "--ignore-not-found", stdin=MANIFESTS).stdout.splitlines() == [
        'node "n1" deleted',
        'pod "db-1" deleted',
    ]


def test_nothing_and_not_found(ctl):
    nothing = ctl("get", "pods", "-n", "shop")
    assert (nothing.stdout, nothing.stderr) == ("", "No resources found in shop namespace.\n")
    assert ctl("get", "nodes").stderr == "No resources found\n"
    missing = ctl("get", "pods", "x", code=1)
    assert (missing.stdout, missing.stderr) == ("", 'Error from server (NotFound): pods "x" not found\n')
    classes = ctl("get", "pc/x", code=1)
    assert classes.stderr == 'Error from server (NotFound): priorityclasses.scheduling.k8s.io "x" not found\n'
    empty = ctl("get", "pods", "-o", "json")
    assert (json.loads(empty.stdout)["items"], empty.stderr) == ([], "")


def test_documents_read_back_and_apply_again(ctl, gateway, prefix):
    ctl("apply", "-f", "-", stdin=MANIFESTS)
    (kv,) = gateway.range(f"{prefix}/pods/default/web-1", timeout=5).kvs
    value = bound(kv.value, "n1", 7, at="2026-01-31T12:00:00Z")
    gateway.txn(Txn((), (Put(kv.key, value),)), timeout=5)

    pod = yaml.safe_load(ctl("get", "pod", "web-1", "-o", "yaml").stdout)
    assert pod == json.loads(ctl("get", "pod/web-1", "-o", "json").stdout)
    assert pod["spec"]["nodeName"] == "n1"
    assert pod["status"]["fencingToken"] == 7
    assert pod["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "100m"}}

    everything = ctl("get", "nodes,pods", "-A", "-o", "yaml").stdout
    again = ctl("apply", "-f", "-", stdin=everything).stdout
    assert set(again.split()[1::2]) == {"unchanged"}

    ctl("apply", "-f", "-", stdin=MANIFESTS.replace("nginx", "caddy"))
    (kv,) = gateway.range(kv.key, timeout=5).kvs
    assert (decode_pod(kv).node, decode_pod(kv).token) == ("n1", 0)
    assert "Scheduled" in ctl("get", "pods").stdout
    moved = MANIFESTS.replace("spec:\n", "spec:\n  nodeName: n2\n", 1)
    assert "pod/web-1: it is bound to n1" in ctl("apply", "-f", "-", stdin=moved, code=1).stderr


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("cpu: 100m", 'standard input: document 2: spec.containers[0].resources.requests.cpu: "1x" is no quantity'),
        ("kind: Pod", 'standard input: document 2: kind: "Pood" is not a kind that is known here: Event, Namespace'),
    ],
)
def test_a_bad_manifest_writes_nothing(ctl, gateway, prefix, bad, told):
    broken = MANIFESTS.replace(bad, {"cpu: 100m": "cpu: 1x", "kind: Pod": "kind: Pood"}[bad], 1)
    found = ctl("apply", "-f", "-", stdin=broken, code=2)
    assert found.stderr.startswith(f"error: {told}")
    assert len(found.stderr.splitlines()) == 1
    assert found.stdout == ""
    assert gateway.list(prefix, timeout=5).kvs == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kind: Pod", "document 1: apiVersion: is required"),
        ("apiVersion: v1", "document 1: kind: is required"),
        ("apiVersion: v1\nkind: Service\nmetadata: {name: a}", 'document 1: kind: "Service" is not a kind'),
        ("apiVersion: v2\nkind: Pod\nmetadata: {name: a}", 'document 1: apiVersion: "v2" is not v1, as Pod wants it'),
        ("apiVersion: v1\nkind: Node\nmetadata: {}", "document 1: metadata.name: is required"),
        ("apiVersion: v1\nkind: Node\nmetadata: {name: A_b}", 'document 1: metadata.name: "A_b" must be lower-case'),
        (
            "apiVersion: v1\nkind: Node\nmetadata: {name: 7}",
            "document 1: metadata.name: 7 must be a text: put it in quotes",
        ),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: a}", "document 1: spec: is required"),
        ("a: 1\nb: [", "line 3: did not find expected node content"),
        ("a: 1\n---\na: 1\na: 2", 'document 2: line 4: "a" is given twice'),
        ('{"kind": "Pod",}', "document 1: line 1: "),
        ('{"a": 1}\n---\n{"b": }', "document 2: line 3: "),
        ("[1, 2]", "document 1: an object with apiVersion and kind is wanted"),
        ("", "no objects found"),
        ("\tx: 1", "line 1: "),
    ],
)
def test_what_is_no_manifest(text, told):
    found = CliRunner().invoke(main, ["apply", "-f", "-"], input=text)
    assert (found.exit_code, found.stdout) == (2, "")
    assert all(line.startswith("error: ") for line in found.stderr.splitlines())
    assert told in found.stderr


def test_kubernetes_data_is_never_touched(ctl, gateway, prefix):
    gateway.txn(Txn((), (Put(f"{prefix}/pods/default/x", b"k8s\0\n\x09"),)), timeout=5)
    for words in (("apply", "-f", "-"), ("get", "pods"), ("delete", "pods", "x"), ("list",)):
        found = ctl(*words, stdin=MANIFESTS, code=2)
        assert "holds Kubernetes' data: choose another --prefix" in found.stderr
        assert len(found.stderr.splitlines()) == 1
    assert len(gateway.list(prefix, timeout=5).kvs) == 1


def test_what_cannot_be_read_is_named_and_the_rest_is_shown(ctl, gateway, prefix):
    ctl("apply", "-f", "-", stdin=MANIFESTS)
    gateway.txn(Txn((), (Put(f"{prefix}/pods/default/broken", encode(b"no JSON")),)), timeout=5)
    found = ctl("get", "pods", code=1)
    assert "web-1" in found.stdout
    assert found.stderr.startswith(f"error: {prefix}/pods/default/broken: ")


def test_events(ctl, gateway, prefix):
    event = Event(
        name="7-1",
        namespace="default",
        time="2026-01-31T12:00:00Z",
        regarding=Reference(kind="Pod", namespace="default", name="web-1"),
        reason="Scheduled",
        note="Successfully assigned default/web-1 to n1",
    )
    gateway.txn(Txn((), (Put(f"{prefix}/events/default/7-1", encode(event.manifest(), token=7)),)), timeout=5)
    header, line = ctl("get", "events").stdout.splitlines()
    assert header.split() == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert line.split()[1:4] == ["Normal", "Scheduled", "pod/web-1"]
    assert json.loads(ctl("get", "ev", "-o", "json").stdout)["items"][0]["status"]["fencingToken"] == 7


def test_list(ctl, gateway, prefix):
    assert "No replicas found for kube-system/kube-scheduler" in ctl("list").stderr
    lock = LockName(prefix, "kube-system", "kube-scheduler")
    record = LeaderRecord(holder_identity="a_1", renew_time="2026-01-31T12:00:00Z", leader_transitions=2)
    puts = [Put(lock.lease, record.encode()), Put(lock.term, TermValue("a_1", "x").encode())]
    for identity in ("a_1", "b_2"):
        value = Candidate(identity=identity, hostname=identity[0], pid=1, since="2026-01-31T11:00:00Z").encode()
        puts.append(Put(lock.candidates + identity, value))
    reply = gateway.txn(Txn((), tuple(puts)), timeout=5)

    table = ctl("list").stdout.splitlines()
    assert table[0].startswith("+ Lock: kube-system/kube-scheduler (transitions: 2) -")
    assert [cell.strip() for cell in table[1].strip("|").split("|")][:4] == ["Member", "Host", "Role", "State"]
    assert [line.split()[1] for line in table[3:5]] == ["a_1", "b_2"]
    document = json.loads(ctl("list", "-o", "json").stdout)
    assert document == yaml.safe_load(ctl("list", "-o", "yaml").stdout)
    assert [(each["member"], each["role"], each["token"]) for each in document["members"]] == [
        ("a_1", "Leader", reply.revision),
        ("b_2", "Standby", None),
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["get", "svc"], 'error: there is no resource type "svc"'),
        (["get", "pods", "--bogus"], "error: No such option '--bogus'"),
        (["get", "pods", "-n", "A"], "error: Invalid value for '-n'"),
        (["get", "pods", "-o", "xml"], "error: Invalid value for '-o'"),
        (["get", "pods", "-l", "a b"], 'error: selector "a b"'),
        (["apply"], "error: give manifests with -f"),
        (["apply", "-f", "/does/not/exist.yaml"], "error: /does/not/exist.yaml: No such file or directory"),
        (["delete"], "error: either name objects"),
        (["delete", "pods"], "error: name the pods to delete"),
        (["delete", "pods", "a", "--all"], "error: --all can't be given with names"),
        (["delete", "pods", "a", "--field-selector", "status.phase="], "error: a selector can't be given with names"),
        (["list", "--name", "a/b"], "error: Invalid value for '--name'"),
        (["get", "pods", "--field-selector", "spec.color=red"], 'error: pods can\'t be selected by "spec.color"'),
        (["get", "pods", "--sort-by", "{.a[}"], 'error: "{.a[}" is no JSONPath'),
        (["get", "pods,nodes", "-w"], "error: one resource type at a time can be watched"),
        (["describe"], "error: name a resource type"),
        (["events", "--for", "web-1"], 'error: --for "web-1" is not TYPE/NAME'),
        (["events", "--types", "Loud"], 'error: --types "Loud" names other types than Normal and Warning'),
        (["wait", "pod/a"], "error: Missing option '--for'"),
        (["wait", "pod/a", "--for=ready"], 'error: --for "ready" is none of delete, create, condition=NAME'),
        (["wait", "pods", "--for=delete"], "error: either name objects, or say -l SELECTOR"),
        (["wait", "pod/a", "--for=delete", "--timeout=5"], "error: Invalid value for '--timeout'"),
        (["cordon"], "error: either name nodes or say -l SELECTOR"),
        (["drain", "n1", "-l", "a=b"], "error: either name nodes or say -l SELECTOR"),
        (["drain", "n1", "--pod-selector", "a b"], 'error: selector "a b"'),
        (["taint"], "error: give a taint"),
        (["taint", "nodes", "n1"], "error: give a taint"),
        (["taint", "pods", "a", "k:NoSchedule"], "error: only nodes have taints"),
        (["taint", "nodes", "n1", "k=v:Never"], 'error: taint "k=v:Never" has the effect "Never"'),
        (["taint", "nodes", "k:NoSchedule"], "error: name nodes, or say -l SELECTOR, or --all"),
        (["import", "openb"], "error: Missing option '--nodes'"),
        (["switchover", "--timeout", "now"], "error: Invalid value for '--timeout'"),
        (["history", "-o", "xml"], "error: Invalid value for '-o'"),
        (["frobnicate"], "error: No such command 'frobnicate'"),
        (["get", "pods", "--command-timeout", "soon"], "error: Invalid value for '--command-timeout'"),
        (["get", "pods", "--endpoints", "nonsense"], "error: endpoint 'nonsense' has no port"),
    ],
)
def test_usage_errors_are_one_line(words, told):
    found = CliRunner().invoke(main, words)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.startswith(told)
    assert len(found.stderr.splitlines()) == 1


def test_nobody_listens():
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        endpoint = f"127.0.0.1:{reserved.getsockname()[1]}"
        found = CliRunner().invoke(main, ["get", "pods", "--endpoints", endpoint, "--command-timeout", "500ms"])
    assert found.exit_code == 1
    assert endpoint in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_somebody_listens_who_says_nothing():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        endpoint = f"127.0.0.1:{silent.getsockname()[1]}"
        found = CliRunner().invoke(main, ["get", "pods", "--endpoints", endpoint, "--command-timeout", "500ms"])
    assert found.exit_code == 3
    assert endpoint in found.stderr
    assert len(found.stderr.splitlines()) == 1


def test_a_wrong_certificate():
    """An error at once, not at the end of the timeout."""
    served = ("--cert-file", certs.path("server.pem"), "--key-file", certs.path("server.key"))
    with Embedded.start(
        scheme="https", flags=[str(word) for word in served], client={"cacert": certs.path("ca.pem")}
    ) as etcd:
        words = ["get", "pods", "--endpoints", ",".join(etcd.connection.endpoints)]
        good = CliRunner().invoke(main, [*words, "--cacert", str(certs.path("ca.pem"))])
        assert (good.exit_code, good.stderr) == (0, "No resources found in default namespace.\n")
        bad = CliRunner().invoke(
            main, [*words, "--cacert", str(certs.path("stranger.pem")), "--command-timeout", "60s"]
        )
    assert bad.exit_code == 1
    assert "certificate" in bad.stderr
    assert len(bad.stderr.splitlines()) == 1


def test_as_a_process(etcd, prefix, tmp_path):
    """The installed command, with the environment's words for its options, and a folder of manifests."""
    (tmp_path / "all.yaml").write_text(MANIFESTS)
    spans = tmp_path / "spans.jsonl"
    env = {
        **os.environ,
        "ETCDCTL_ENDPOINTS": ",".join(etcd.connection.endpoints),
        "LOCKD_PREFIX": prefix,
        "LOCKD_TRACE_FILE": str(spans),
    }
    command = [str(Path(sys.executable).with_name("replicactl")), "apply", "-f", str(tmp_path)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "node/n1 created"
    names = {
        span["name"]
        for line in spans.read_text().splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    }
    assert "replicactl apply" in names
