"""Hurting a cluster once: the fault applied, kept in force for its time, healed whatever happens."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from chaos.cluster.interface import Condition
from chaos.faults.custody import Custody
from chaos.targets import Cast, resolve
from component.durations import format_duration
from lockd.record import display_time

if TYPE_CHECKING:
    import random
    import threading
    from collections.abc import Callable, Sequence

    from chaos.cluster.interface import Cluster, Target
    from chaos.faults.fault import Applied
    from chaos.hurt.order import Order
    from chaos.hurt.places import Whereabouts
    from chaos.roles import Role
    from component.clock import Clock
    from component.progress import Progress

SCHEMA: Final = 1
STEP: Final = 0.1


@dataclass(frozen=True, slots=True)
class Hurt:
    """What was done.

    Attributes:
        at: In wall seconds, just before it was.
        seconds: From then until it was healed.
        healing: The proof that it was undone.
    """

    order: Order
    targets: tuple[Target, ...]
    at: float
    seconds: float
    proof: str
    healing: str

    def document(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "fault": self.order.fault.name,
            "parameters": dict(self.order.given),
            "role": None if self.order.role is None else str(self.order.role),
            "targets": [asdict(target) for target in self.targets],
            "at": display_time(self.at),
            "lasted_s": round(self.seconds, 3),
            "proof": self.proof,
            "healing": self.healing,
        }


def hurt(
    where: Whereabouts,
    asked: Order,
    *,
    stop: threading.Event,
    random: random.Random,
    clock: Clock,
    told: Progress,
    tell: Callable[[str], None],
) -> Hurt:
    """Apply a fault to a cluster, and heal it after its time, or as soon as `stop` is set.

    Args:
        tell: Gets the proof as soon as the fault took effect.

    Raises:
        NoCluster, EngineError, NoTarget, NotAvailable, NotApplied, NotHealed, StoreError, Interrupted: Nothing of the
            fault is left, or the line says what.
    """
    with contextlib.ExitStack() as undo:
        place = undo.enter_context(where.opened(clock))
        custody = undo.enter_context(Custody(place, stop=stop, random=random, clock=clock, tell=tell))
        role = asked.role
        targets = () if role is None else resolve(role, cast(role, place.cluster), random.random())
        applied = custody.apply(asked.fault, targets)
        tell(f"{asked.fault.name}: {applied.proof}")
        _last(applied, asked.lasts, stop, clock, told)
        healing = custody.heal(applied)
        return Hurt(asked, targets, applied.wall, clock.now() - applied.at, applied.proof, healing)


def cast(role: Role, cluster: Cluster) -> Cast:
    """Who is who, as far as that decides who has a role; nobody who has ended.

    Raises:
        StoreError: etcd can't be asked who leads.
    """

    def living(everybody: Sequence[Target]) -> tuple[Target, ...]:
        return tuple(target for target in everybody if cluster.condition(target) is not Condition.GONE)

    asks = role.kind in ("leader", "standby", "standbys")
    return Cast(
        replicas=living(cluster.replicas()),
        leader=cluster.leader() if asks else None,
        members=living(cluster.etcd_members()),
        etcd_leader=cluster.etcd_leader() if role.of_etcd else None,
        daemons=living(cluster.daemons()),
    )


def _last(applied: Applied, lasts: float | None, stop: threading.Event, clock: Clock, told: Progress) -> None:
    """Let it last: for its time, or until it is over by itself, or until `stop` is set."""
    if lasts is None and applied.over:
        return
    what = "in force until Ctrl-C" if lasts is None else f"in force for {format_duration(lasts)}"
    of = 1.0 if lasts is None else lasts
    while not (applied.over if lasts is None else clock.now() >= applied.at + lasts):
        told(what, 0.0 if lasts is None else min(of, clock.now() - applied.at), of)
        if clock.wait(stop, STEP):
            return
    told(what, of, of)
