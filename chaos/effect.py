"""What kinds of effect faults have, as far as a judge must know them."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Effect(StrEnum):
    """What a fault does."""

    KILL = "kill"
    """Ends a process without warning."""
    STOP = "stop"
    """Asks a process to end."""
    PAUSE = "pause"
    """Stops a process where it stands; it goes on later."""
    CUT = "cut"
    """Holds back, refuses or resets what processes say to each other, or delays it."""
    STORE = "store"
    """Hurts etcd itself."""
    CLOCK = "clock"
    """Shifts a clock."""
    KEYS = "keys"
    """Writes or deletes keys of the lock by hand."""
    OTHER = "other"

    @classmethod
    def of(cls, fault: str, *, on_etcd: bool = False) -> Effect:
        """The effect of a fault by its name.

        Args:
            on_etcd: Is it aimed at etcd members? Then it hurts the store, whatever it is.
        """
        return cls.STORE if on_etcd else _EFFECTS.get(fault, cls.OTHER)


_EFFECTS: Final = {
    "kill": Effect.KILL,
    "crash-loop": Effect.KILL,
    "terminate": Effect.STOP,
    "rolling-restart": Effect.STOP,
    "pause": Effect.PAUSE,
    "cut": Effect.CUT,
    "isolate": Effect.CUT,
    "delay": Effect.CUT,
    "fail-first": Effect.CUT,
    "drop-reply": Effect.CUT,
    "quorum-loss": Effect.STORE,
    "move-leader": Effect.STORE,
    "compact": Effect.STORE,
    "no-space": Effect.STORE,
    "defragment": Effect.STORE,
    "shift-clock": Effect.CLOCK,
    "delete-lease": Effect.KEYS,
    "garble-lease": Effect.KEYS,
    "foreign-holder": Effect.KEYS,
    "hang-collector": Effect.OTHER,
}
