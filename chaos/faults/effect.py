"""A fault in force, as all families make it; and how an effect, or its end, is waited for."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from chaos.errors import Interrupted
from chaos.faults.errors import NotApplied, NotHealed
from component.process import Gone
from lockd.errors import LockdError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.cluster.interface import Target
    from chaos.faults.fault import Scene
    from component.clock import Clock

_STEP: Final = 0.02


@dataclass(frozen=True, slots=True)
class Moment:
    """When something was done: on CLOCK_BOOTTIME and in wall seconds. Taken just before it is done."""

    at: float
    wall: float

    @classmethod
    def now(cls, clock: Clock) -> Moment:
        return cls(clock.now(), clock.wall())


def always() -> bool:
    return True


def never() -> bool:
    return False


@dataclass(slots=True)
class Effect:
    """A `chaos.faults.fault.Applied`.

    Attributes:
        undo: Undoes it and gives the proof; called until it has succeeded once.
        ended: Has all been done that it does by itself?
    """

    moment: Moment
    proof: str
    undo: Callable[[], str]
    ended: Callable[[], bool] = never
    _healed: str | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def at(self) -> float:
        return self.moment.at

    @property
    def wall(self) -> float:
        return self.moment.wall

    @property
    def over(self) -> bool:
        return self.ended()

    def heal(self) -> str:
        with self._lock:
            if self._healed is None:
                self._healed = self.undo()
            return self._healed


def shown(scene: Scene, look: Callable[[], str | None], otherwise: str) -> str:
    """Look until `look` gives a proof that the fault took effect. etcd may be silent in between.

    Raises:
        NotApplied: It gave none as long as the scene has patience; says `otherwise`.
        Interrupted: The scene's stop was set.
    """
    found = _look(look, scene.clock, scene.stop, scene.patience)
    if found is not None:
        return found
    if scene.stop.is_set():
        raise Interrupted("stopped by a signal")
    raise NotApplied(f"{otherwise} within {scene.patience:g} s")


def undone(scene: Scene, look: Callable[[], str | None], otherwise: str) -> str:
    """Look until `look` gives a proof that the fault is undone, whoever wants us to stop.

    Raises:
        NotHealed: It gave none as long as the scene has patience; says `otherwise`.
    """
    found = _look(look, scene.clock, threading.Event(), scene.patience)
    if found is None:
        raise NotHealed(f"{otherwise} within {scene.patience:g} s")
    return found


def witnessed(scene: Scene, target: Target, proof: str, what: str, moment: Moment) -> str:
    """A proof, with what somebody else tells of it, if anybody does.

    Args:
        what: As `Cluster.evidence` has it.
    """
    try:
        told = scene.cluster.evidence(target, what, moment.wall)
    except (LockdError, Gone):
        told = ""  # it is proved without
    return f"{proof} ({told})" if told else proof


def sought(scene: Scene, look: Callable[[], str | None], otherwise: str, *, within: float) -> str:
    """What `look` gives in so many seconds, else `otherwise`: for what need not be so. The scene's stop ends it."""
    return _look(look, scene.clock, scene.stop, within) or otherwise


def _look(look: Callable[[], str | None], clock: Clock, stop: threading.Event, within: float) -> str | None:
    end = clock.now() + within
    while True:
        try:
            if (found := look()) is not None:
                return found
        except StoreError:
            pass  # a fault's own work, perhaps
        if clock.now() >= end or clock.wait(stop, _STEP):
            return None
