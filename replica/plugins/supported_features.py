"""SupportedFeatures: a pod that requires what is not built here is refused, never just bound.

That is: volumes that a node must provide, and resource claims. `replica.api.podspec` finds them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from replica.framework.interface import PreFilterResult
from replica.framework.status import unresolvable
from replica.queue.hints import Action, ClusterEvent, Registration, Resource

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Nodes
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Handle

NAME = "SupportedFeatures"

_SUPPORTED = PreFilterResult()


class SupportedFeatures:
    """PreFilter."""

    name = NAME
    signs_spec = True

    def pre_filter(self, _state: CycleState, pod: Pod, _nodes: Nodes) -> PreFilterResult:
        return PreFilterResult(unresolvable(*pod.spec.unsupported)) if pod.spec.unsupported else _SUPPORTED

    def signature(self, pod: Pod) -> bool | None:
        return None if pod.spec.unsupported else True

    def events_to_register(self) -> Sequence[Registration]:
        # What a pod asks for never changes: only another pod can do better.
        return (Registration(NAME, ClusterEvent(Resource.POD, Action.ADD)),)


def make(_args: Mapping[str, Any], _handle: Handle) -> SupportedFeatures:
    return SupportedFeatures()
