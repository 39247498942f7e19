"""Faults of whole networks: a process is taken off all of them, whatever it speaks and to whom."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from chaos.faults.effect import Effect, Moment, shown, undone, witnessed
from chaos.faults.errors import NotApplied, NotAvailable, NotHealed
from chaos.faults.fault import Kind, Need
from chaos.faults.undo import Undo
from component.process import Gone

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.cluster.interface import Membership, Networks, Target
    from chaos.faults.fault import Applied, Scene
    from chaos.faults.guard import Promise


@dataclass(frozen=True, slots=True)
class Isolate:
    """Takes processes off all their networks, until healed: connections fall silent, and nobody is told."""

    name: ClassVar[str] = "isolate"
    aims: ClassVar[frozenset[Kind]] = frozenset(Kind)
    needs: ClassVar[frozenset[Need]] = frozenset({Need.NETWORKS})

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:
        networks = scene.cluster.networks()
        if networks is None:
            raise NotAvailable(
                "the processes of this cluster share the network of their host: take --cut all, on a cluster of "
                "`chaosctl up --proxied`, or a cluster of containers"
            )
        with Undo() as undo:
            before = {}
            for target in targets:
                before[target] = networks.of(target)
                if not before[target]:
                    raise NotApplied(f"{target.name} is in no network already")
                promise = scene.guard.promise(scene.remedies.join(target, before[target]))
                undo.add(partial(_join, scene, networks, target, before[target], promise))
            moment = Moment.now(scene.clock)
            for target in targets:
                try:
                    networks.leave(target)
                except Gone as error:
                    raise NotApplied(f"{target.name} had ended before") from error
            proofs = []
            for target in targets:
                look = partial(_alone, networks, target, before[target])
                proof = shown(scene, look, f"{target.name} is in a network still")
                proofs.append(witnessed(scene, target, proof, "disconnect", moment))
        return Effect(moment, "; ".join(proofs), undo)


def _alone(networks: Networks, target: Target, before: Sequence[Membership]) -> str | None:
    if networks.of(target):
        return None
    return f"{target.name} was taken off {', '.join(each.network for each in before)}, and is in no network"


def _join(scene: Scene, networks: Networks, target: Target, before: Sequence[Membership], promise: Promise) -> str:
    wanted = {each.network for each in before}

    def look() -> str | None:
        try:
            there = {each.network for each in networks.of(target)}
        except Gone:
            return f"{target.name} was removed meanwhile"
        return f"{target.name} is in {', '.join(sorted(wanted))} again" if wanted <= there else None

    try:
        networks.join(target, before)
    except Gone as error:
        raise NotHealed(f"{target.name} was removed meanwhile") from error
    proof = undone(scene, look, f"{target.name} is not in all of {', '.join(sorted(wanted))} again")
    promise.release()
    return proof
