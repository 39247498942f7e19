"""What an attempt costs that ends in preemption, by how many promises are in force: processor time, without etcd."""

from __future__ import annotations

import random
import sys
import time
from statistics import median

import pytest

from replica.framework.cycle_state import CycleState
from replica.framework.diagnosis import Diagnosis
from replica.framework.interface import Handle
from replica.framework.waiting import WaitingPods
from replica.queue.nominator import Nominator
from tests.harness.clock import ManualClock
from tests.harness.framework import runtime_of, table_of
from tests.harness.objects import node, pod

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NODES = 5000
PODS_EACH = 4
GO = 3
"""Victims of each pod."""

MEASURED = 200


class Full:
    """As `chaosctl bench preemption` has it: full nodes, and pods for each of which three go."""

    def __init__(self) -> None:
        nodes = [node(f"n{number}", allocatable={"cpu": "4", "memory": "16Gi", "pods": 20}) for number in range(NODES)]
        placed = [(each.name, pod(requests={"cpu": "900m"}, priority=0)) for each in nodes for _ in range(PODS_EACH)]
        self.table = table_of(nodes, placed)
        self.nominator = Nominator()
        handle = Handle(ManualClock(), random.Random(1), WaitingPods(), nominator=self.nominator)  # noqa: S311
        self.runtime = runtime_of(with_handle=handle)
        self.number = 0

    def attempt(self) -> float:
        """One pod is refused, and three go for it. The seconds of processor time that it took."""
        self.number += 1
        made = pod(f"high-{self.number}", requests={"cpu": "3"}, priority=10)
        began = time.thread_time()
        state, nodes = CycleState(), self.table.snapshot()
        found = self.runtime.place(state, made, nodes)
        assert isinstance(found, Diagnosis)
        result = self.runtime.post_filter(state, made, nodes, found)
        took = time.thread_time() - began
        assert result.status.ok
        assert len(result.victims) == GO
        self.nominator.nominate(made, result.nominated_node or "")
        for victim in result.victims:
            self.table.remove_pod(result.nominated_node or "", victim.uid)
        return took

    def come(self, number: int) -> float:
        """One pod takes what it was promised."""
        made = pod(f"high-{number}", requests={"cpu": "3"}, priority=10)
        began = time.thread_time()
        found = self.runtime.place(CycleState(), made, self.table.snapshot())
        took = time.thread_time() - began
        assert not isinstance(found, Diagnosis)
        self.nominator.forget(made.path)
        self.table.add_pod(found.node_name, made)
        return took


def test_an_attempt_by_the_promises_in_force() -> None:
    world = Full()
    for promises in (0, 1000, 4000):
        while world.number < promises:
            world.attempt()
        spent = median(world.attempt() for _ in range(MEASURED))
        came = median(world.come(world.number - each) for each in range(MEASURED // 4))
        sys.stdout.write(f"\n  {promises} promises: refused {spent * 1e6:.0f} us, comes {came * 1e6:.0f} us a pod\n")
