"""Faults of etcd's members: too few of them, or another one that leads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from chaos.cluster.supervisor import MARKER
from chaos.faults.effect import Effect, Moment, always, shown, undone
from chaos.faults.errors import NotApplied
from chaos.faults.fault import NOBODY, NOTHING
from chaos.faults.parameters import choice, parameter
from chaos.faults.processes import alive, halted
from chaos.faults.undo import Undo
from lockd.errors import StoreError
from lockd.etcd.maintenance import Maintenance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.cluster.interface import Target
    from chaos.faults.fault import Applied, Kind, Need, Scene

TIMEOUT: Final = 5.0
"""Seconds that etcd may take for what is asked of it."""

SILENT: Final = 2.0
"""Seconds in which no member answers a linearizable read: then there is no quorum."""


@dataclass(frozen=True, slots=True)
class QuorumLoss:
    """Takes away as many etcd members as leave the others without a quorum, until healed."""

    name: ClassVar[str] = "quorum-loss"
    aims: ClassVar[frozenset[Kind]] = NOBODY
    needs: ClassVar[frozenset[Need]] = NOTHING

    how: str = parameter(choice("pause", "kill"), "pause", what="How members are taken away; chance says which.")

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:  # noqa: ARG002  # aimed at the cluster
        members = [member for member in scene.cluster.etcd_members() if alive(scene, member)]
        if not members:
            raise NotApplied("no etcd member is running")
        chosen = scene.random.sample(members, len(members) // 2 + 1)
        with Undo() as undo:
            undo.add(lambda: undone(scene, lambda: answers(scene), "etcd does not answer"))
            moment, halting = halted(scene, undo, chosen, self.how)
            proof = shown(scene, lambda: _silent(scene), "etcd went on answering")
        return Effect(moment, f"{halting}; {proof}", undo)


@dataclass(frozen=True, slots=True)
class MoveLeader:
    """Has another etcd member lead, as `etcdctl move-leader` does."""

    name: ClassVar[str] = "move-leader"
    aims: ClassVar[frozenset[Kind]] = NOBODY
    needs: ClassVar[frozenset[Need]] = NOTHING

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:  # noqa: ARG002  # aimed at the cluster
        leader = scene.cluster.etcd_leader()
        if leader is None:
            raise NotApplied("no etcd member leads")
        others = [each for each in scene.cluster.etcd_members() if each.name != leader.name and alive(scene, each)]
        if not others:
            raise NotApplied(f"{leader.name} is the only etcd member there is: nobody else can lead")
        chosen = scene.random.choice(others)
        member = scene.gateway.status(chosen.address, timeout=TIMEOUT).member_id
        moment = Moment.now(scene.clock)
        Maintenance(scene.gateway).move_leader(leader.address, member, timeout=TIMEOUT)

        def look() -> str | None:
            status = scene.gateway.status(chosen.address, timeout=TIMEOUT)
            return f"{chosen.name} leads in place of {leader.name}" if status.leader == status.member_id else None

        proof = shown(scene, look, f"{chosen.name} does not lead")
        return Effect(moment, proof, lambda: undone(scene, lambda: answers(scene), "etcd does not answer"), always)


def _silent(scene: Scene) -> str | None:
    try:
        _read(scene, SILENT)
    except StoreError:
        return f"no member answers a linearizable read within {SILENT:g} s"
    return None


def answers(scene: Scene) -> str:
    """That etcd answers a linearizable read.

    Raises:
        StoreError: It doesn't.
    """
    return f"etcd answers a linearizable read, at revision {_read(scene, TIMEOUT)}"


def _read(scene: Scene, timeout: float) -> int:
    return scene.gateway.range(f"{scene.lock.prefix}/{MARKER}", timeout=timeout).revision
