"""A node as it would be: with pods on it that aren't there yet, or without some that are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replica.cache.host_ports import HostPorts
from replica.cache.nodes import CPU, EPHEMERAL, MEMORY, PODS
from replica.cache.occupancy import DEMAND_LIMIT, demand_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from replica.api.pods import Pod
    from replica.api.podspec import PodSpec
    from replica.cache.nodes import Nodes


def what_if(nodes: Nodes, row: int, *, more: Sequence[Pod] = (), fewer: Sequence[Pod] = ()) -> Nodes:
    """One row of the whole table, as nodes of their own, changed by pods that come and go. Nothing else is."""
    part = nodes.take([row])
    part.requested = part.requested.copy()
    part.scoring = part.scoring.copy()
    there = dict(part.pods[0])
    clipped = [lane for lane, amount in enumerate(part.requested[:, 0].tolist()) if amount >= DEMAND_LIMIT]
    for pods, sign in ((more, 1), (fewer, -1)):
        for pod in pods:
            for lane, amount in lanes_of(nodes, pod.spec):
                changed = part.requested.item(lane, 0) + sign * amount
                part.requested[lane, 0] = min(max(changed, 0), DEMAND_LIMIT)
            demand = demand_of(pod.spec)
            part.scoring[CPU, 0] = max(0, part.scoring.item(CPU, 0) + sign * demand.scoring_cpu)
            part.scoring[MEMORY, 0] = max(0, part.scoring.item(MEMORY, 0) + sign * demand.scoring_memory)
    there.update((pod.uid, pod) for pod in more)
    for pod in fewer:
        there.pop(pod.uid, None)
    for lane in clipped:
        # What is asked for is more than the column can say: the pods know.
        whole = sum(amount for pod in there.values() for at, amount in lanes_of(nodes, pod.spec) if at == lane)
        part.requested[lane, 0] = min(whole, DEMAND_LIMIT)
    part.pods = [there]
    part.ports = HostPorts()  # by row of the whole table, of which no other is looked at
    part.ports.put(row, frozenset(port for pod in there.values() for port in pod.spec.host_ports))
    return part


def lanes_of(nodes: Nodes, spec: PodSpec) -> Iterator[tuple[int, int]]:
    """(lane, amount) of what a pod takes."""
    demand = demand_of(spec)
    yield from ((CPU, demand.cpu), (MEMORY, demand.memory), (EPHEMERAL, demand.ephemeral), (PODS, 1))
    # A resource without a lane is on no node: nothing that asks for it fits anywhere.
    yield from ((lane, amount) for name, amount in demand.extended if (lane := nodes.lanes.get(name)) is not None)
