import socket
from pathlib import Path

from chaos.cluster.plan import Launch, Plan, environment, port_for

PLAN = Plan(folder=Path("/d"), prefix="/p", replicas=2, flags=("--leader-elect-lease-duration=3s", "-v=4"))


def test_names_count_from_one():
    assert PLAN.names() == ("replica-1", "replica-2")


def test_each_start_has_an_identity_and_a_trace_file_of_its_own():
    first = Launch.of(PLAN, "replica-1", port=1, restarts=0)
    second = Launch.of(PLAN, "replica-1", port=1, restarts=1)
    assert first.identity != second.identity
    assert first.identity.startswith(f"{socket.gethostname()}_")
    assert (first.trace, second.trace) == (Path("/d/trace/replica-1.0.jsonl"), Path("/d/trace/replica-1.1.jsonl"))
    assert first.log == second.log


def test_the_users_flags_come_last():
    launch = Launch.of(PLAN, "replica-1", port=77, restarts=0)
    command = launch.command(PLAN, ("127.0.0.1:1", "127.0.0.1:2"))
    assert command[1:4] == ["-m", "replica", "run"]
    assert {
        "--endpoints=127.0.0.1:1,127.0.0.1:2",
        "--prefix=/p",
        f"--identity={launch.identity}",
        "--bind-address=127.0.0.1",
        "--secure-port=77",
        "--trace-file=/d/trace/replica-1.0.jsonl",
        "--logging-format=json",
    } <= set(command)
    assert tuple(command[-2:]) == PLAN.flags


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
        launch = Launch.of(PLAN, "replica-1", port=listener.getsockname()[1], restarts=0)
        assert port_for(launch) != launch.port
    assert port_for(launch) == launch.port
    assert port_for(None) > 0
