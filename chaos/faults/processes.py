"""Faults of processes: killed, asked to end, stopped for a while; replicas, etcd members or lock services."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from chaos.cluster.interface import Condition
from chaos.errors import NotStarted, TooSlow
from chaos.faults.effect import Effect, Moment, always, shown, sought, undone, witnessed
from chaos.faults.errors import NotApplied, NotHealed
from chaos.faults.fault import NOTHING, Kind
from chaos.faults.undo import Undo
from component.process import Gone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chaos.cluster.interface import Target
    from chaos.faults.fault import Applied, Need, Scene
    from chaos.faults.guard import Promise

ANY: Final = frozenset(Kind)
RETURN: Final = 10.0
"""Seconds that a supervisor is given to start an ended process again, before it is said that it didn't."""

ASKING: Final = 2.0
"""Seconds that a member may take to answer."""


@dataclass(frozen=True, slots=True)
class Kill:
    """Ends processes without warning (SIGKILL)."""

    name: ClassVar[str] = "kill"
    aims: ClassVar[frozenset[Kind]] = ANY
    needs: ClassVar[frozenset[Need]] = NOTHING

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:
        return _ended(scene, targets, scene.cluster.kill, "killed")


@dataclass(frozen=True, slots=True)
class Terminate:
    """Asks processes to end (SIGTERM)."""

    name: ClassVar[str] = "terminate"
    aims: ClassVar[frozenset[Kind]] = ANY
    needs: ClassVar[frozenset[Need]] = NOTHING

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:
        return _ended(scene, targets, scene.cluster.terminate, "ended when asked")


@dataclass(frozen=True, slots=True)
class Pause:
    """Stops processes where they stand (SIGSTOP), until healed."""

    name: ClassVar[str] = "pause"
    aims: ClassVar[frozenset[Kind]] = ANY
    needs: ClassVar[frozenset[Need]] = NOTHING

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:
        with Undo() as undo:
            moment, proof = halted(scene, undo, targets, "pause")
        return Effect(moment, proof, undo)


def halted(scene: Scene, undo: Undo, targets: Sequence[Target], how: str) -> tuple[Moment, str]:
    """Stop processes (`pause`), or `kill` etcd members; gives the moment just before, and the proof.

    Args:
        undo: Gets what has them go on, or starts them again.

    Raises:
        NotApplied: One goes on, or stood still before.
    """
    paused = how == "pause"
    if paused:
        for target in targets:
            if _stopped(scene, target):  # by a fault that would let it go on before this one is over
                raise NotApplied(f"{target.name} (pid {target.pid}) is stopped already")
        for target in targets:
            promise = scene.guard.promise(scene.remedies.go_on(target))
            undo.add(partial(_gone_on, scene, target, promise))
    else:
        _start_again(scene, undo, targets)
    moment = Moment.now(scene.clock)
    if paused:
        for target in targets:
            strike([target], scene.cluster.pause)
    else:
        strike(targets, scene.cluster.kill)
    looks = {
        target: partial(_stopped, scene, target) if paused else partial(gone, scene, target, "killed")
        for target in targets
    }
    what = "pause" if paused else "die"
    proofs = [
        witnessed(scene, target, shown(scene, look, f"{target.name} (pid {target.pid}) goes on"), what, moment)
        for target, look in looks.items()
    ]
    return moment, "; ".join(proofs)


def restart(scene: Scene, target: Target) -> str:
    """Start an ended etcd member again, unless somebody has, and give the proof.

    Raises:
        NotHealed: It does not answer.
    """
    try:
        back = scene.cluster.start(target)
    except (NotStarted, TooSlow) as error:
        raise NotHealed(f"{target.name} could not be started again: {error}") from error

    def look() -> str:
        status = scene.gateway.status(back.address, timeout=ASKING)
        return f"{target.name} came back as pid {back.pid} and answers, at revision {status.revision}"

    return undone(scene, look, f"{target.name} does not answer")


def resume(scene: Scene, target: Target) -> str:
    """Let a stopped process go on, and give the proof; one that has ended meanwhile needs nothing.

    Raises:
        NotHealed: It stands still.
    """

    def look() -> str | None:
        match scene.cluster.condition(target):
            case Condition.STOPPED:
                return None
            case Condition.GONE:
                return f"{target.name} has ended meanwhile"
        return f"{target.name} goes on"

    with contextlib.suppress(Gone):
        scene.cluster.resume(target)
    return undone(scene, look, f"{target.name} (pid {target.pid}) is still stopped")


def _stopped(scene: Scene, target: Target) -> str | None:
    stopped = scene.cluster.condition(target) is Condition.STOPPED
    return f"{target.name} (pid {target.pid}) is stopped" if stopped else None


def _ended(scene: Scene, targets: Sequence[Target], end: Callable[..., None], how: str) -> Effect:
    members = {member.name for member in scene.cluster.etcd_members()}
    others = [target for target in targets if target.name not in members]
    with Undo() as undo:
        _start_again(scene, undo, [target for target in targets if target.name in members])
        moment = Moment.now(scene.clock)
        strike(targets, end)
        proofs = [witnessed(scene, target, _shown_gone(scene, target, how), "die", moment) for target in targets]

    def heal() -> str:
        back = undo()
        return "; ".join(filter(None, (*(returned(scene, target) for target in others), back)))

    return Effect(moment, "; ".join(proofs), heal, always)


def strike(targets: Sequence[Target], end: Callable[..., None]) -> None:
    """Do it to processes, all at once.

    Raises:
        NotApplied: One had ended before.
    """
    try:
        end(*targets)
    except Gone as error:
        names = ", ".join(f"{target.name} (pid {target.pid})" for target in targets)
        whose = "" if len(targets) == 1 else "one of "
        raise NotApplied(f"{whose}{names} had ended before: {error}") from error


def _shown_gone(scene: Scene, target: Target, how: str) -> str:
    return shown(scene, partial(gone, scene, target, how), f"{target.name} (pid {target.pid}) did not end")


def _gone_on(scene: Scene, target: Target, promise: Promise) -> str:
    proof = resume(scene, target)
    promise.release()
    return proof


def _start_again(scene: Scene, undo: Undo, members: Sequence[Target]) -> None:
    """Promise to start etcd members again, which nobody else does: all at once, since one may wait for the others."""
    left = {member: scene.guard.promise(scene.remedies.start(member)) for member in members}

    def one(member: Target) -> str:
        proof = restart(scene, member)
        left.pop(member).release()
        return proof

    def start() -> str:
        with ThreadPoolExecutor(max(1, len(left)), thread_name_prefix="chaos/start") as pool:
            return "; ".join(pool.map(one, tuple(left)))

    undo.add(start)


def alive(scene: Scene, target: Target) -> bool:
    return scene.cluster.condition(target) is not Condition.GONE


def gone(scene: Scene, target: Target, how: str) -> str | None:
    return None if alive(scene, target) else f"{target.name} (pid {target.pid}) was {how}"


def returned(scene: Scene, target: Target) -> str:
    """Who came back in the place of an ended replica or `lockd`; not all clusters start them again."""

    def look() -> str | None:
        successor = present(scene, target.name)
        if successor is None or successor.is_same(target):
            return None
        return f"{target.name} came back as pid {successor.pid}"

    return sought(scene, look, f"{target.name} has not come back", within=RETURN)


def present(scene: Scene, name: str) -> Target | None:
    """The living process of a name."""
    kinds = {"etcd": scene.cluster.etcd_members, "lockd": scene.cluster.daemons}
    alike = kinds.get(name.rpartition("-")[0], scene.cluster.replicas)()
    return next((each for each in alike if each.name == name and alive(scene, each)), None)
