"""Taints of nodes and tolerations of pods."""

from __future__ import annotations

from typing import Final

import msgspec

NO_SCHEDULE: Final = "NoSchedule"
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
NO_EXECUTE: Final = "NoExecute"
EFFECTS: Final = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
OPERATORS: Final = ("Equal", "Exists")
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
"""The key of the taint that a cordoned node counts as having."""


class Taint(msgspec.Struct, frozen=True, gc=False):
    """What keeps pods off a node."""

    key: str
    effect: str
    value: str = ""

    def __str__(self) -> str:
        """As kubectl writes it: `key=value:effect`."""
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class Toleration(msgspec.Struct, frozen=True, gc=False):
    """What lets a pod onto a node all the same: an empty effect matches all, an empty key with `Exists` too."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        match self.operator:
            case "Exists":
                return True
            case "" | "Equal":
                return bool(self.key) and self.value == taint.value
        return False
