"""GpuFilter and GpuPriority: nodes with GPUs are for pods that ask for them, and are filled one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from replica.framework.arguments import Arguments, WithArguments
from replica.framework.interface import HIGHEST_SCORE
from replica.framework.status import SUCCESS, Status, unresolvable
from replica.queue.hints import Action, ClusterEvent, Registration, Resource

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Amounts, Nodes
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Handle
    from replica.framework.node_info import NodeInfo

MODEL = "gpu.example.com/model"
"""On a pod: the model it needs. On a node: the one it has."""


class GpuFilterArgs(Arguments, frozen=True, kw_only=True):
    """`reserved`: nodes with GPUs take no pods that ask for none."""

    resource: str = "nvidia.com/gpu"
    reserved: bool = True


class GpuFilter:
    """Filter, one node at a time."""

    name = "GpuFilter"

    def __init__(self, args: GpuFilterArgs) -> None:
        self._args = args

    def filter_node(self, _state: CycleState, pod: Pod, node: NodeInfo) -> Status:
        """Refuse what no preemption can change: the wrong model, or a node kept for others."""
        model = pod.labels.get(MODEL)
        if model and node.node.labels.get(MODEL) != model:
            return unresolvable("node(s) had no GPU of the model asked for")
        if self._args.reserved and node.allocatable(self._args.resource) and not _asked(pod, self._args.resource):
            return unresolvable("node(s) were reserved for pods with GPUs")
        return SUCCESS

    def signature(self, pod: Pod) -> Hashable:
        """All that is read of a pod here: pods that agree in it share an evaluation."""
        return pod.labels.get(MODEL), _asked(pod, self._args.resource)

    def events_to_register(self) -> Sequence[Registration]:
        """What may help a pod that was refused: a node that comes, or gets another label or more GPUs."""
        node = Action.ADD | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_ALLOCATABLE
        return (Registration(self.name, ClusterEvent(Resource.NODE, node)),)


class GpuPriorityArgs(Arguments, frozen=True, kw_only=True):
    """`prefer`: the node whose GPUs are the fullest, or the emptiest, with the pod on it."""

    resource: str = "nvidia.com/gpu"
    prefer: Literal["Fullest", "Emptiest"] = "Fullest"

    def problems(self) -> Iterator[tuple[str, str]]:
        """What the types of the fields don't rule out."""
        if "/" not in self.resource:
            yield "resource", f"{self.resource!r} is no extended resource: its name has a /"


class GpuPriority:
    """Score, all nodes at once."""

    name = "GpuPriority"

    def __init__(self, args: GpuPriorityArgs) -> None:
        self._args = args

    def score(self, _state: CycleState, pod: Pod, nodes: Nodes) -> Amounts | None:
        """0 to 100 for each row: the share of its GPUs in use with the pod on it, or what is left of them."""
        lane = nodes.lanes.get(self._args.resource)
        asked = _asked(pod, self._args.resource)
        if lane is None or not asked:
            return None  # 0 for all
        offered, taken = nodes.allocatable[lane], nodes.requested[lane]
        used: Amounts = np.minimum(taken + asked, offered) * HIGHEST_SCORE // np.maximum(offered, 1)
        return used if self._args.prefer == "Fullest" else HIGHEST_SCORE - used

    def signature(self, pod: Pod) -> Hashable:
        """As in GpuFilter."""
        return _asked(pod, self._args.resource)


def _asked(pod: Pod, resource: str) -> int:
    return dict(pod.spec.requests).get(resource, 0)


def _filter(args: GpuFilterArgs, _handle: Handle) -> GpuFilter:
    return GpuFilter(args)


def _priority(args: GpuPriorityArgs, _handle: Handle) -> GpuPriority:
    return GpuPriority(args)


GPU_FILTER = WithArguments(GpuFilterArgs, _filter)
GPU_PRIORITY = WithArguments(GpuPriorityArgs, _priority)
