"""DefaultBinder: binds a pod by the scheduler's guarded write and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from replica.framework.status import SUCCESS, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replica.api.pods import Pod
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Handle

NAME = "DefaultBinder"


class DefaultBinder:
    """Bind."""

    name = NAME

    def bind(self, _state: CycleState, _pod: Pod, _node_name: str) -> Status:
        return SUCCESS


def make(_args: Mapping[str, Any], _handle: Handle) -> DefaultBinder:
    return DefaultBinder()
