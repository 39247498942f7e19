"""Faults of processes: killed, asked to end, stopped for a while; replicas, etcd members or lock services."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from chaos.faults.effect import Effect, Moment, always, shown, sought, undone
from chaos.faults.errors import NotApplied
from chaos.faults.fault import Kind, Need
from chaos.faults.remedies import Continue
from component.process import Gone, Process

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chaos.cluster.interface import Target
    from chaos.faults.fault import Applied, Scene

ANY: Final = frozenset(Kind)
RETURN: Final = 10.0
"""Seconds that a supervisor is given to start an ended process again, before it is said that it didn't."""

_STOPPED: Final = ("T", "t")


@dataclass(frozen=True, slots=True)
class Kill:
    """Ends processes without warning (SIGKILL)."""

    name: ClassVar[str] = "kill"
    aims: ClassVar[frozenset[Kind]] = ANY
    needs: ClassVar[frozenset[Need]] = frozenset()

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:
        return _ended(scene, targets, scene.cluster.kill, "killed")


@dataclass(frozen=True, slots=True)
class Terminate:
    """Asks processes to end (SIGTERM)."""

    name: ClassVar[str] = "terminate"
    aims: ClassVar[frozenset[Kind]] = ANY
    needs: ClassVar[frozenset[Need]] = frozenset()

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:
        return _ended(scene, targets, scene.cluster.terminate, "ended when asked")


@dataclass(frozen=True, slots=True)
class Pause:
    """Stops processes where they stand (SIGSTOP), until healed."""

    name: ClassVar[str] = "pause"
    aims: ClassVar[frozenset[Kind]] = ANY
    needs: ClassVar[frozenset[Need]] = frozenset()

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:
        moment = Moment.now(scene.clock)
        with contextlib.ExitStack() as undo:
            proofs = []
            for target in targets:
                promise = scene.guard.promise(Continue(target.pid, target.started))
                undo.callback(promise.release)
                undo.callback(resume, scene, target)
                scene.cluster.pause(target)
                proofs.append(shown(scene, lambda target=target: _stopped(target), f"{target.name} did not stop"))  # type: ignore[misc]
            held = undo.pop_all()

        def heal() -> str:
            held.close()
            return "; ".join(f"{target.name} goes on" for target in targets)

        return Effect(moment, "; ".join(proofs), heal)


def process(target: Target) -> Process:
    return Process(target.pid, target.started)


def resume(scene: Scene, target: Target) -> str:
    """Let a stopped process go on, and give the proof; one that has ended meanwhile needs nothing.

    Raises:
        NotHealed: It stands still.
    """

    def look() -> str | None:
        state = process(target).state
        if state in _STOPPED:
            return None
        return f"{target.name} goes on" if state else f"{target.name} has ended meanwhile"

    with contextlib.suppress(Gone):
        scene.cluster.resume(target)
    return undone(scene, look, f"{target.name} (pid {target.pid}) is still stopped")


def _stopped(target: Target) -> str | None:
    state = process(target).state
    return f"{target.name} (pid {target.pid}) is in state {state}, stopped" if state in _STOPPED else None


def _ended(scene: Scene, targets: Sequence[Target], end: Callable[[Target], None], how: str) -> Effect:
    moment = Moment.now(scene.clock)
    for target in targets:
        try:
            end(target)
        except Gone as error:
            raise NotApplied(f"{target.name} (pid {target.pid}) had ended before") from error
    proof = "; ".join(
        shown(scene, lambda target=target: gone(target, how), f"{target.name} (pid {target.pid}) did not end")  # type: ignore[misc]
        for target in targets
    )
    return Effect(moment, proof, lambda: "; ".join(returned(scene, target) for target in targets), always)


def gone(target: Target, how: str) -> str | None:
    return None if process(target).alive else f"{target.name} (pid {target.pid}) was {how}"


def returned(scene: Scene, target: Target) -> str:
    """Who came back in the place of an ended process."""

    def look() -> str | None:
        for successor in (*scene.cluster.replicas(), *scene.cluster.etcd_members()):
            if successor.name == target.name and process(successor) != process(target) and process(successor).alive:
                return f"{target.name} came back as pid {successor.pid}"
        return None

    return sought(scene, look, f"{target.name} has not come back", within=RETURN)
