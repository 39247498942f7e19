"""Faults of what etcd stores: its history compacted, its room used up, its files rewritten."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from chaos.cluster.supervisor import MARKER
from chaos.faults.effect import Effect, Moment, always, shown, undone
from chaos.faults.errors import NotApplied, NotAvailable
from chaos.faults.fault import NOBODY, NOTHING, Kind
from chaos.faults.members import answers
from chaos.faults.parameters import COUNT, parameter
from chaos.faults.remedies import Disarm, Reach
from chaos.faults.undo import Undo
from lockd.errors import Compacted, NoSpace
from lockd.etcd.maintenance import Alarm, Maintenance
from lockd.ports import Compare, Field, Put, Txn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.cluster.interface import Target
    from chaos.faults.fault import Applied, Need, Scene

TIMEOUT: Final = 5.0
REWRITING: Final = 60.0
"""Seconds that a member may take to rewrite its file."""

NOSPACE: Final = "NOSPACE"


@dataclass(frozen=True, slots=True)
class Compact:
    """Compacts etcd's history, under everybody who watches."""

    name: ClassVar[str] = "compact"
    aims: ClassVar[frozenset[Kind]] = NOBODY
    needs: ClassVar[frozenset[Need]] = NOTHING

    keep: int = parameter(COUNT, 0, what="How many of the last revisions stay.")

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:  # noqa: ARG002  # aimed at the cluster
        marker = f"{scene.lock.prefix}/{MARKER}"
        revision = scene.gateway.range(marker, timeout=TIMEOUT).revision - self.keep
        if revision <= 1:
            raise NotApplied(f"etcd has no more than {self.keep} revisions: nothing is there to be compacted")
        moment = Moment.now(scene.clock)
        scene.gateway.compact(revision, timeout=TIMEOUT)

        def look() -> str | None:
            try:
                scene.gateway.range(marker, revision=revision - 1, timeout=TIMEOUT)
            except Compacted:
                return f"revision {revision - 1} can't be read any more: it was compacted"
            return None

        proof = shown(scene, look, f"revision {revision - 1} can still be read")
        return Effect(moment, proof, lambda: "what is compacted stays so", always)


@dataclass(frozen=True, slots=True)
class OutOfSpace:
    """Puts etcd out of space: the alarm NOSPACE, under which every put is refused, until healed."""

    name: ClassVar[str] = "no-space"
    aims: ClassVar[frozenset[Kind]] = NOBODY
    needs: ClassVar[frozenset[Need]] = NOTHING

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:  # noqa: ARG002  # aimed at the cluster
        maintenance = Maintenance(scene.gateway)
        if maintenance.alarms(timeout=TIMEOUT):
            raise NotApplied("an alarm is in force already")
        member = scene.random.choice(maintenance.members(timeout=TIMEOUT))
        alarm = Alarm(member.member_id, NOSPACE)
        promise = scene.guard.promise(Disarm(Reach.of(scene.gateway.connection), member.member_id, NOSPACE))

        def heal() -> str:
            maintenance.disarm(alarm, timeout=TIMEOUT)
            proof = undone(scene, lambda: _taken(scene, maintenance, alarm), f"the alarm {NOSPACE} is still in force")
            promise.release()
            return f"the alarm {NOSPACE} is disarmed; {proof}"

        moment = Moment.now(scene.clock)
        with Undo() as undo:
            undo.add(heal)
            maintenance.raise_alarm(alarm, timeout=TIMEOUT)
            proof = shown(scene, lambda: _refused(scene), "puts are still taken")
        return Effect(moment, f"{member.name} raised the alarm {NOSPACE}; {proof}", undo)


@dataclass(frozen=True, slots=True)
class Defragment:
    """Has etcd members rewrite their files, as `etcdctl defrag` does: each answers nothing meanwhile."""

    name: ClassVar[str] = "defragment"
    aims: ClassVar[frozenset[Kind]] = frozenset({Kind.ETCD})
    needs: ClassVar[frozenset[Need]] = NOTHING

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:
        maintenance = Maintenance(scene.gateway)
        moment = Moment.now(scene.clock)
        proofs = []
        for target in targets:
            before = _file(target)
            began = scene.clock.now()
            maintenance.defragment(target.address, timeout=REWRITING)
            seconds = scene.clock.now() - began
            after = _file(target)
            if after == before:
                raise NotApplied(f"{target.name} did not rewrite its file")
            proofs.append(f"{target.name} rewrote its file (inode {before} -> {after}) in {seconds * 1000:.0f} ms")
        return Effect(
            moment, "; ".join(proofs), lambda: undone(scene, lambda: answers(scene), "etcd does not answer"), always
        )


def _file(target: Target) -> int:
    """The inode of the database file that a member has open.

    Raises:
        NotAvailable: It can't be told.
    """
    for descriptor in _descriptors(target):
        try:
            if str(descriptor.readlink()).removesuffix(" (deleted)").endswith("/member/snap/db"):
                return descriptor.stat().st_ino
        except OSError:
            continue  # closed meanwhile
    raise NotAvailable(f"which file {target.name} (pid {target.pid}) has open can't be told: run as its user")


def _descriptors(target: Target) -> list[Path]:
    try:
        return list(Path(f"/proc/{target.pid}/fd").iterdir())
    except OSError:
        return []


def _put(scene: Scene) -> None:
    """Put the marker as it is: changes nothing, and is a put like any other."""
    key = f"{scene.lock.prefix}/{MARKER}"
    (marker,) = scene.gateway.range(key, timeout=TIMEOUT).kvs
    same = Compare(key, Field.VALUE, marker.value)
    scene.gateway.txn(Txn(compares=(same,), then=(Put(key, marker.value),)), timeout=TIMEOUT)


def _refused(scene: Scene) -> str | None:
    try:
        _put(scene)
    except NoSpace:
        return "a put was refused for want of space"
    return None


def _taken(scene: Scene, maintenance: Maintenance, alarm: Alarm) -> str | None:
    if alarm in maintenance.alarms(timeout=TIMEOUT):
        return None
    try:
        _put(scene)
    except NoSpace:
        return None
    return "a put was taken"
