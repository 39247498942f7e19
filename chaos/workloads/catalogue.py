"""The workloads by the names that scenarios give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chaos.scenario.length import Length
from chaos.workloads import making
from chaos.workloads.idle import Idle
from chaos.workloads.locks import LockWorkload
from chaos.workloads.pace import Bursts, Steady
from chaos.workloads.pods import PodWorkload

if TYPE_CHECKING:
    from chaos.cluster.plan import Plan
    from chaos.scenario import model
    from chaos.timing import Timing
    from chaos.workloads.interface import Workload
    from chaos.workloads.pace import Pace
    from component.clock import Clock
    from lockd.etcd.gateway import Gateway

RATE: Final = 20.0
NODES: Final = 10
PODS_PER_NODE: Final = 1000
SIZE: Final = 50
EVERY: Final = "1 lease"
CONTENDERS: Final = 3
"""What a scenario gets that says nothing of it."""


def workload(asked: model.Workload, gateway: Gateway, plan: Plan, timing: Timing, *, clock: Clock) -> Workload:
    """The workload that a scenario asks for; its clients speak to etcd by a gateway of their own."""
    pace: Pace = Steady(asked.rate or RATE)
    nodes, pods = making.nodes(asked.nodes or NODES, pods=asked.pods_per_node or PODS_PER_NODE), making.pods()
    match asked.kind:
        case "bursts":
            every = Length.parse(asked.every or EVERY).under(timing)
            pace = Bursts(asked.size or SIZE, every)
        case "openb":
            nodes, pods = making.trace_nodes(), making.trace_pods()
        case "lock-only":
            return LockWorkload(gateway, plan, timing, contenders=asked.contenders or CONTENDERS, clock=clock)
        case "none":
            return Idle()
    return PodWorkload(gateway, plan.prefix, nodes=nodes, pods=pods, pace=pace, clock=clock)
