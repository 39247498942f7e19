"""Gangs: pods that are bound together or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from replica.framework.interface import Plugin

if TYPE_CHECKING:
    from replica.api.pods import Pod


@dataclass(frozen=True, slots=True)
class Gang:
    """Pods of which so many are bound together or none at all.

    Attributes:
        key: `namespace/name` of their PodGroup.
        least: How many must have a place, those bound already counted, before any is bound.
        plugin: Who says so; its members are refused in this name for each other's sake.
        timeout: Seconds that those who have theirs wait until the others may be bound, too.
    """

    key: str
    least: int
    plugin: str
    timeout: float


@runtime_checkable
class GroupingPlugin(Plugin, Protocol):
    """Says which pods are placed together: when one of a gang is taken up, all that wait of it are.

    If it keeps pods back in PreEnqueue, then all of a gang or none.
    """

    def gang(self, pod: Pod) -> Gang | None: ...
