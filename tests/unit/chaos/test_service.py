"""What a service in place of a replica is told."""

import json
import sys
from dataclasses import replace
from pathlib import Path

from chaos.cluster.plan import Plan
from chaos.cluster.replicas import ReplicaStart
from chaos.cluster.service import PLACEHOLDERS, problems
from chaos.cluster.ways import Direct

WORDS = ("{python}", "-m", "shop", "--listen={host}:{port}", "--lock={namespace}/{lock}", "--lease={lease}", "{odd} {}")
PLAN = Plan(
    folder=Path("/d"), prefix="/p", service=WORDS, lock="shop/tills", timing=(3.0, 2.0, 0.5), flags=("--ignored",)
)
DIRECT = Direct(("127.0.0.1:1", "127.0.0.1:2"))


class Links(Direct):
    """Ways with a door for presence."""

    def presence(self, name):
        return f"to-{name}:2"


def test_each_placeholder_is_filled_and_the_rest_left():
    start = ReplicaStart.of(PLAN, DIRECT, "replica-1", 0, None)
    assert start.command() == [
        *(sys.executable, "-m", "shop", f"--listen=127.0.0.1:{start.port}"),
        *("--lock=shop/tills", "--lease=3", "{odd} {}"),
    ]


def test_every_placeholder_that_is_documented_stands_for_something():
    plan = replace(PLAN, service=tuple(f"{{{name}}}" for name in PLACEHOLDERS))
    start = ReplicaStart.of(plan, Links(("127.0.0.1:1",)), "replica-1", 0, None)
    assert dict(zip(PLACEHOLDERS, start.command(), strict=True)) == {
        "python": sys.executable,
        "endpoints": "127.0.0.1:1",
        "prefix": "/p",
        "namespace": "shop",
        "lock": "tills",
        "identity": start.identity,
        "name": "replica-1",
        "host": "127.0.0.1",
        "port": str(start.port),
        "presence": start.presence,
        "advertise": "to-replica-1:2",
        "trace": "/d/trace/replica-1.0.jsonl",
        "lease": "3",
        "renew": "2",
        "retry": "0.5",
    }


def test_it_listens_for_the_others_wherever_it_likes_where_there_are_no_links():
    start = ReplicaStart.of(replace(PLAN, service=("{presence}", "{advertise}")), DIRECT, "replica-1", 0, None)
    assert start.command() == ["127.0.0.1:0", ""]


def test_its_environment_names_its_cluster_and_no_other(monkeypatch):
    monkeypatch.setenv("ETCDCTL_CACERT", "/elsewhere")
    monkeypatch.setenv("LOCKD_PREFIX", "/elsewhere")
    start = ReplicaStart.of(PLAN, DIRECT, "replica-1", 0, None)
    found = {name: value for name, value in start.environment().items() if name.startswith(("ETCDCTL_", "LOCKD_"))}
    assert found == {
        "ETCDCTL_ENDPOINTS": "127.0.0.1:1,127.0.0.1:2",
        "LOCKD_PREFIX": "/p",
        "LOCKD_IDENTITY": start.identity,
        "LOCKD_TRACE_FILE": "/d/trace/replica-1.0.jsonl",
    }


def test_a_replica_is_told_none_of_that():
    start = ReplicaStart.of(replace(PLAN, service=()), DIRECT, "replica-1", 0, None)
    assert start.command()[:4] == [sys.executable, "-m", "replica", "run"]
    assert "LOCKD_IDENTITY" not in start.environment()


def test_a_plan_with_one_gets_to_the_supervisor_whole():
    assert Plan.parse(json.loads(json.dumps(PLAN.document()))) == PLAN


def test_mistakes_in_its_words():
    assert problems(()) == ()
    assert problems(("{python}", "{port}")) == ()
    unknown, port = problems(("{python}", "{prot}"))
    assert unknown.startswith("{prot} stands for nothing: there are python, endpoints, ")
    assert port.startswith("no word has {port}")
