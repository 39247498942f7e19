"""Faults of processes, where nothing is real."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from chaos.cluster.interface import Condition, Target
from chaos.faults.errors import NotApplied
from chaos.faults.processes import Pause
from tests.harness.clock import ManualClock

STANDS, RUNS = Target("replica-1", "A", 1, 1, ""), Target("replica-2", "B", 2, 2, "")


def test_who_stands_still_already_is_not_paused_again():
    done = []
    scene = SimpleNamespace(
        clock=ManualClock(),
        cluster=SimpleNamespace(
            condition=lambda target: Condition.STOPPED if target is STANDS else Condition.RUNNING, pause=done.append
        ),
        guard=SimpleNamespace(promise=done.append),
        remedies=SimpleNamespace(go_on=lambda target: f"{target.name} goes on"),
    )
    with pytest.raises(NotApplied, match=r"replica-1 \(pid 1\) is stopped already"):
        Pause().apply(scene, [RUNS, STANDS])
    assert done == [], "the other one goes on, too"
