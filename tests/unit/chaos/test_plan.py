import json
import socket
import sys
from dataclasses import replace
from pathlib import Path

from chaos.cluster.daemons import DaemonStart
from chaos.cluster.plan import Plan, environment, port_for
from chaos.cluster.replicas import ReplicaStart
from chaos.cluster.ways import Direct

PLAN = Plan(folder=Path("/d"), prefix="/p", replicas=2, flags=("--leader-elect-lease-duration=3s", "-v=4"))
DIRECT = Direct(("127.0.0.1:1", "127.0.0.1:2"))


class Links(Direct):
    """Ways in which each name dials its own."""

    def endpoints(self, name):
        return (f"for-{name}:1",)

    def presence(self, name):
        return f"to-{name}:2"


def test_names_count_from_one():
    assert PLAN.names() == ("replica-1", "replica-2")
    assert replace(PLAN, daemons=2).daemon_names() == ("lockd-1", "lockd-2")


def test_a_plan_gets_to_the_supervisor_whole():
    plan = replace(PLAN, daemons=1, proxied=True, program=("py", "x.py"), environment={"replica-1": {"A": "b"}})
    assert Plan.parse(json.loads(json.dumps(plan.document()))) == plan


def test_each_start_has_an_identity_and_a_trace_file_of_its_own():
    first = ReplicaStart.of(PLAN, DIRECT, "replica-1", 0, None)
    second = ReplicaStart.of(PLAN, DIRECT, "replica-1", 1, first)
    assert first.identity != second.identity
    assert first.identity.startswith(f"{socket.gethostname()}_")
    assert (first.trace, second.trace) == (Path("/d/trace/replica-1.0.jsonl"), Path("/d/trace/replica-1.1.jsonl"))
    assert (first.log, first.port) == (second.log, second.port)


def test_the_users_flags_come_last():
    start = ReplicaStart.of(PLAN, DIRECT, "replica-1", 0, None)
    command = start.command()
    assert command[1:4] == ["-m", "replica", "run"]
    assert {
        "--endpoints=127.0.0.1:1,127.0.0.1:2",
        "--prefix=/p",
        f"--identity={start.identity}",
        "--bind-address=127.0.0.1",
        f"--secure-port={start.port}",
        "--trace-file=/d/trace/replica-1.0.jsonl",
        "--logging-format=json",
    } <= set(command)
    assert tuple(command[-2:]) == PLAN.flags
    assert not [word for word in command if word.startswith("--presence")]


def test_through_links_each_dials_its_own_and_is_dialled_by_one():
    first = ReplicaStart.of(PLAN, Links(()), "replica-1", 0, None)
    second = ReplicaStart.of(PLAN, Links(()), "replica-1", 1, first)
    assert {
        "--endpoints=for-replica-1:1",
        f"--presence-bind={first.presence}",
        "--presence-advertise=to-replica-1:2",
    } <= set(first.command())
    assert second.presence == first.presence
    daemon = DaemonStart.of(PLAN, Links(()), "lockd-1", 0, None)
    assert daemon.command()[:4] == [sys.executable, "-m", "lockd.daemon", "serve"]
    assert "--endpoints=for-lockd-1:1" in daemon.command()


def test_another_program_and_variables_of_ones_own(monkeypatch):
    plan = replace(PLAN, program=("py", "x.py"), environment={"replica-1": {"OFFSET": "5"}})
    one, two = (ReplicaStart.of(plan, DIRECT, name, 0, None) for name in plan.names())
    assert one.command()[:3] == ["py", "x.py", "run"]
    assert one.environment() == {**environment(), "OFFSET": "5"}
    assert two.environment() == environment()


def test_what_names_another_cluster_is_not_passed_on(monkeypatch):
    for name in ("ETCDCTL_ENDPOINTS", "ETCDCTL_USER", "LOCKD_PREFIX", "OTEL_SERVICE_NAME"):
        monkeypatch.setenv(name, "x")
    passed = environment()
    assert "OTEL_SERVICE_NAME" in passed
    assert not [name for name in passed if name.startswith(("ETCDCTL_", "LOCKD_"))]


def test_a_port_is_kept_over_restarts_unless_it_was_taken_meanwhile():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert port_for(port) != port
    assert port_for(port) == port
    assert port_for(0) > 0
