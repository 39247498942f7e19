"""The cluster in Docker, as `make up` brings it up: one for all tests here, with pods that keep coming."""

from __future__ import annotations

import json
import re
import socket
import urllib.request
from datetime import datetime

import pytest

from component.clock import SystemClock
from tests.harness import engine
from tests.harness.engine import WITHIN, Docked
from tests.harness.wait import eventually
from tools import compose as tool
from tools.engine import docker

pytestmark = [pytest.mark.compose, pytest.mark.timeout(2 * WITHIN)]

LARGEST = 150e6
"""Bytes of the image beyond its base."""

GRACE = 7.0
"""Seconds of a drain and the exit bound: what an orderly end takes at most."""

LOCK = "kube-scheduler"
CLOCK = SystemClock()


def seconds(stamp):
    """Of an RFC 3339 stamp, with as many digits as docker likes."""
    return datetime.fromisoformat(re.sub(r"(\.\d{6})\d*", r"\1", stamp)).timestamp()


def history(cluster, container):
    """The terms so far, oldest first."""
    return json.loads(cluster.run(container, "lockctl", "history", LOCK, "-o", "json"))["terms"]


def stands_by(container):
    return tool.ask(container).leads is False


def test_all_is_healthy_and_said_so(cluster):
    print(cluster.told)
    assert sorted(cluster.came) == [
        *("demo", "etcd-1", "etcd-2", "etcd-3", "lockd", "prometheus", "replica-1", "replica-2", "replica-3"),
    ]
    assert set(cluster.came.values()) <= {"healthy", "running"}
    assert re.search(r"replica-[123] leads: http://127\.0\.0\.1:\d+/statusz", cluster.told)
    assert f"metrics and alerts: http://127.0.0.1:{cluster.ports['PROMETHEUS_PORT']}\n" in cluster.told
    cluster.whole()  # other tests may have hurt it meanwhile
    asked = cluster.make("leader")
    assert asked.code == 0
    assert asked.stdout.count("stands by") == 2


def test_labels_say_what_may_be_done_to_a_container(cluster):
    roles = {name: each.labels["lockd.role"] for name, each in cluster.containers().items()}
    assert roles == {
        **{f"etcd-{number}": "etcd" for number in (1, 2, 3)},
        **{f"replica-{number}": "replica" for number in (1, 2, 3)},
        "lockd": "lockd",
        "demo": "demo",
        "prometheus": "prometheus",
    }


def test_pods_that_come_are_bound_and_the_history_is_right(cluster):
    one = cluster.replicas()[0]

    def bound():
        pods = json.loads(cluster.run(one, "replicactl", "get", "pods", "-n", "chaos", "-o", "json"))["items"]
        return [pod for pod in pods if pod["spec"].get("nodeName")]

    eventually(bound, within=WITHIN, what="a pod has a node")
    assert "error" not in cluster.run(one, "chaosctl", "audit", "--wait", f"{WITHIN / 2}s")


def test_prometheus_scrapes_all_of_it_and_has_the_rules(cluster):
    def asked(path):
        with urllib.request.urlopen(f"http://127.0.0.1:{cluster.ports['PROMETHEUS_PORT']}{path}", timeout=10.0) as page:
            return json.load(page)["data"]

    def scraped():
        targets = asked("/api/v1/targets?state=active")["activeTargets"]
        up = sorted(each["labels"]["job"] for each in targets if each["health"] == "up")
        return up == ["etcd"] * 3 + ["lockd"] + ["replica"] * 3

    eventually(scraped, within=WITHIN)
    rules = [rule for group in asked("/api/v1/rules")["groups"] for rule in group["rules"]]
    assert len(rules) >= 8
    assert {rule["health"] for rule in rules} <= {"ok", "unknown"}
    # by leases that nobody lost, there is one leader
    leads = asked("/api/v1/query?query=sum(leader_election_master_status)")["result"]
    assert [each["value"][1] for each in leads] == ["1"]


def test_the_image_is_small_and_holds_no_secret(cluster):
    replica = cluster.inspect(cluster.replicas()[0])
    image = json.loads(docker("image", "inspect", replica["Image"]))[0]
    base = json.loads(docker("image", "inspect", tool.variable("PYTHON_IMAGE") or "python:3.12.11-slim-bookworm"))[0]
    beyond = image["Size"] - base["Size"]
    print(f"the image is {beyond / 1e6:.0f} MB beyond its base of {base['Size'] / 1e6:.0f} MB")
    assert beyond < LARGEST
    suspicious = re.compile(r"PASSWORD|SECRET|TOKEN|://[^/@ ]+@", re.IGNORECASE)
    assert not [each for each in image["Config"]["Env"] if suspicious.search(each)]
    assert not suspicious.search(docker("history", "--no-trunc", "--format", "{{.CreatedBy}}", replica["Image"]))
    names = ("-name", "*.key", "-o", "-name", ".env", "-o", "-name", ".git")
    assert cluster.run(cluster.replicas()[0], "find", "/opt", *names) == ""


def test_nothing_of_it_runs_as_root(cluster):
    for name, each in cluster.containers().items():
        if each.labels["lockd.role"] in {"etcd", "prometheus"}:
            continue  # images of others decide that
        assert cluster.inspect(each)["Config"]["User"] == "65532:65532", name
        owners = docker("top", each.id, "-eo", "uid,pid").splitlines()[1:]
        assert {line.split()[0] for line in owners} == {"65532"}, name


def test_a_leader_that_dies_is_replaced_and_comes_back_as_a_standby(cluster):
    cluster.whole()
    killed = cluster.leader()
    before = cluster.inspect(killed)["RestartCount"]
    said = cluster.make("kill")
    print(said.stdout)
    assert said.code == 0, said.stderr
    assert f"killed {killed.service}, the leader" in said.stdout
    assert f"{killed.service} stands by again" in said.stdout
    assert cluster.heir(killed)
    after = cluster.inspect(killed)
    assert after["RestartCount"] == before + 1
    assert stands_by(killed)
    assert history(cluster, killed)[-1]["takeover"] == "evidence"


def test_a_leader_that_is_stopped_releases_and_exits_0(cluster):
    cluster.whole()
    stopped = cluster.leader()
    asked = CLOCK.wall()
    docker("stop", stopped.id)
    try:
        heir = cluster.heir(stopped)
        state = cluster.inspect(stopped)["State"]
        assert state["ExitCode"] == 0
        ended, last = history(cluster, heir)[-2:]
        assert ended["holderIdentity"].startswith(f"{stopped.service}_")
        assert (ended["endedBy"], last["takeover"]) == ("released", "release")
        released, gone = (seconds(stamp) - asked for stamp in (ended["until"], state["FinishedAt"]))
        print(f"{stopped.service} released {released * 1000:.0f} ms after docker stop, gone after {gone * 1000:.0f} ms")
        assert released < GRACE
    finally:
        docker("start", stopped.id)
    cluster.whole()


def test_a_port_that_is_taken_is_one_line(cluster):
    taken = Docked(REPLICA_1_PORT=str(cluster.ports["REPLICA_1_PORT"]))
    try:
        said = taken.make("up", "--within=60")
        assert said.code == 1
        port = cluster.ports["REPLICA_1_PORT"]
        assert said.stderr == f"compose: port {port} of this host is taken: name another, or end what holds it\n"
    finally:
        assert taken.make("down").code == 0


def test_an_image_that_is_not_there_is_one_line(cluster):
    said = Docked(LOCKD_IMAGE="lockd-test-nowhere:1").make("up", "--within=60")
    assert said.code in {1, 2}  # 1 where no registry can be reached, so that nobody can say
    assert re.fullmatch(r"compose: (no container registry can be reached|there is no image) .*\n", said.stderr)


def test_no_engine_is_one_line():
    engine.needed()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    said = Docked().make("up", DOCKER_HOST=f"tcp://127.0.0.1:{port}")
    assert said.code == 1
    assert said.stderr.startswith(f"compose: no Docker engine answers at tcp://127.0.0.1:{port} (")
    assert said.stderr.count("\n") == 1
