"""What is said of a supervisor that ends early: its own words, not an earlier one's."""

import threading

import pytest

from chaos import demo
from chaos.cluster import launch
from chaos.cluster.launch import Supervisor, await_health
from chaos.cluster.plan import Plan
from chaos.errors import NotStarted
from component.process import Process
from tests.harness.clock import ManualClock

OLD = "error: the old one\n"


def ended(plan, log):
    plan.logs.mkdir(parents=True)
    (plan.logs / "supervisor.log").write_text(OLD + log)
    return Supervisor(Process(4_000_000, 1), lambda: 1, len(OLD))


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("error: the new one\n", "the new one"),
        ("", "the supervisor ended; what it said is in "),
        ("odd\n\n", "ended: odd;"),
    ],
)
def test_only_the_lines_of_this_start_count(tmp_path, log, said):
    plan = Plan(folder=tmp_path)
    with pytest.raises(NotStarted) as failed:
        await_health(plan, ended(plan, log), threading.Event(), progress=lambda *_: None, clock=ManualClock())
    (problem,) = failed.value.problems
    assert said in problem
    assert "the old one" not in problem


def test_a_demo_takes_no_cluster_down_that_it_did_not_start(tmp_path, monkeypatch):
    plan, told = Plan(folder=tmp_path), []
    supervisor = ended(plan, "error: a cluster runs there\n")
    monkeypatch.setattr(launch, "launch", lambda *_, **__: supervisor)
    with pytest.raises(NotStarted):
        demo.run(plan, lambda what, *_: told.append(what), threading.Event(), keep=False, clock=ManualClock())
    assert told == []
