"""Attempts to place pods: one pod's (`Cycle`), and that of a gang, whose pods go to be bound together (`Party`)."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from replica.framework.cycle_state import CycleState
from replica.framework.runtime import Runtime
from replica.queue.pod import QueuedPod

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from replica.api.pods import Pod
    from replica.binding import Binding
    from replica.framework.gang import Gang


class Cycle(msgspec.Struct):
    """A pod on its way from the queue to its bind.

    Attributes:
        started: When it was taken up.
        node_name: Its place, once it has one.
        held: When Permit was asked.
        party: Those it is bound with, if it is of a gang.
    """

    queued: QueuedPod
    runtime: Runtime
    state: CycleState
    started: float
    node_name: str = ""
    held: float = 0.0
    party: Party | None = None

    @property
    def pod(self) -> Pod:
        return self.queued.pod


@dataclass(frozen=True, slots=True)
class Miss:
    """A pod that got no place.

    Attributes:
        message: For its user; "" where there is nothing to tell.
        plugins: Who refused it; none after an error.
        error: Something is broken: tell so, and try again after a backoff.
    """

    cycle: Cycle
    message: str = ""
    plugins: frozenset[str] = frozenset()
    error: bool = False


@dataclass(slots=True)
class Party:
    """Members of a gang that have their places: all of them go to the binder, or none.

    Between a place and the binder lie Permit and PreBind, where each may be refused, or wait. Thread-safe.

    Attributes:
        deadline: When they are called off unless all are ready.
    """

    gang: Gang
    deadline: float
    _members: dict[str, Cycle]
    _ready: dict[str, Binding] = field(default_factory=dict)
    _broken: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, gang: Gang, cycles: Iterable[Cycle], deadline: float) -> Party:
        """These members, each of which is told of it."""
        party = cls(gang, deadline, {cycle.pod.uid: cycle for cycle in cycles})
        for cycle in party._members.values():
            cycle.party = party
        return party

    def ready(self, cycle: Cycle, binding: Binding) -> Sequence[Binding] | None:
        """A member may be bound.

        Returns:
            All binds in the members' order, when this was the last one; none before that; None when they have been
            called off: then whoever says so settles this one.
        """
        with self._lock:
            if self._broken:
                return None
            self._ready[cycle.pod.uid] = binding
            if len(self._ready) < len(self._members):
                return ()
            return tuple(self._ready[uid] for uid in self._members)

    def break_up(self) -> Sequence[Cycle]:
        """Call them off, unless all are with the binder.

        Returns:
            The members that were ready, to be settled by the caller; the others come by themselves, and find out.
        """
        with self._lock:
            if self._broken or len(self._ready) == len(self._members):
                return ()
            self._broken = True
            return tuple(self._members[uid] for uid in self._ready)

    @property
    def broken(self) -> bool:
        return self._broken

    @property
    def settled(self) -> bool:
        """They are with the binder, or have been called off."""
        return self._broken or len(self._ready) == len(self._members)

    @property
    def members(self) -> Sequence[Cycle]:
        return tuple(self._members.values())
