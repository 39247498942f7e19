"""Faults of the lease key, as by an operator who means well: deleted, overwritten, or given to somebody else."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from chaos.faults.effect import Effect, Moment, always, shown, undone
from chaos.faults.fault import NOBODY, NOTHING
from chaos.faults.parameters import SECONDS, TEXT, parameter
from chaos.faults.remedies import Reach, Withdraw
from chaos.faults.undo import Undo
from lockd.config import NAME_LIMIT
from lockd.errors import StoreError
from lockd.ports import Compare, Delete, Field, Put, Txn
from lockd.record import LeaderRecord, display_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.cluster.interface import Target
    from chaos.faults.fault import Applied, Kind, Need, Scene

TIMEOUT: Final = 5.0


@dataclass(frozen=True, slots=True)
class DeleteLease:
    """Deletes the lease key."""

    name: ClassVar[str] = "delete-lease"
    aims: ClassVar[frozenset[Kind]] = NOBODY
    needs: ClassVar[frozenset[Need]] = NOTHING

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:  # noqa: ARG002  # aimed at the cluster
        moment, revision, holder = _write(scene, None)
        proof = f"revision {revision} deleted {scene.lock.lease}, which {holder} held"
        return Effect(moment, proof, lambda: _held_again(scene, revision), always)


@dataclass(frozen=True, slots=True)
class GarbleLease:
    """Overwrites the lease key with what is no election record."""

    name: ClassVar[str] = "garble-lease"
    aims: ClassVar[frozenset[Kind]] = NOBODY
    needs: ClassVar[frozenset[Need]] = NOTHING

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:  # noqa: ARG002  # aimed at the cluster
        return _overwritten(scene, f"\x00 no record {uuid.uuid4()}", "holds garbage")


@dataclass(frozen=True, slots=True)
class ForeignHolder:
    """Gives the lease to a holder that is no replica and never renews."""

    name: ClassVar[str] = "foreign-holder"
    aims: ClassVar[frozenset[Kind]] = NOBODY
    needs: ClassVar[frozenset[Need]] = NOTHING

    holder: str = parameter(TEXT, "a-stranger", what="Its identity.", leading=True)
    lease: float = parameter(SECONDS, 3.0, what="For how long it claims to hold the lease.")

    def __post_init__(self) -> None:
        if not self.lease > 0:
            raise ValueError("lease: must be more than 0s")
        if len(self.holder.encode()) > NAME_LIMIT:
            raise ValueError(f"holder: has {len(self.holder.encode())} bytes; an identity has {NAME_LIMIT} at most")

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:  # noqa: ARG002  # aimed at the cluster
        now = display_time(scene.clock.wall())
        record = LeaderRecord(
            holder_identity=self.holder,
            lease_duration=self.lease,
            acquire_time=now,
            renew_time=now,
            renewal=str(uuid.uuid4()),
        )
        return _overwritten(scene, record.encode().decode(), f"names {self.holder}")


def _overwritten(scene: Scene, value: str, what: str) -> Effect:
    """Write something of ours into the lease key. Healing takes it away again, if it is still there."""
    remedy = Withdraw(Reach.of(scene.gateway.connection), scene.lock.lease, value)
    promise = scene.guard.promise(remedy)

    def withdraw() -> str:
        remedy.do()
        promise.release()
        return ""

    with Undo() as undo:
        undo.add(withdraw)
        moment, revision, holder = _write(scene, value)

    def heal() -> str:
        undo()
        return _held_again(scene, revision)

    def over() -> bool:
        try:
            return all(kv.value != value.encode() for kv in scene.gateway.range(scene.lock.lease, timeout=TIMEOUT).kvs)
        except StoreError:
            return False

    return Effect(moment, f"since revision {revision} {scene.lock.lease}, which {holder} held, {what}", heal, over)


def _write(scene: Scene, value: str | None) -> tuple[Moment, int, str]:
    """Change the lease key (None: delete it) as it stands.

    Returns:
        Just before that, the revision of it, and who had held the lease.

    Raises:
        NotApplied: Others were always faster, or etcd's history doesn't show it.
    """
    key = scene.lock.lease
    done: list[tuple[Moment, int, str]] = []

    def look() -> str | None:
        found = scene.gateway.range(key, timeout=TIMEOUT).kvs
        if not found:
            return None  # nobody holds it at the moment
        record = LeaderRecord.parse(found[0].value)
        compare = Compare(key, Field.MOD, found[0].mod_revision)
        operation = Delete(key) if value is None else Put(key, value.encode())
        moment = Moment.now(scene.clock)
        reply = scene.gateway.txn(Txn(compares=(compare,), then=(operation,)), timeout=TIMEOUT)
        if not reply.succeeded:
            return None  # a renewal was faster
        stands = scene.gateway.range(key, revision=reply.revision, timeout=TIMEOUT).kvs
        if (stands[0].value.decode() if stands else None) != value:
            return None
        done.append((moment, reply.revision, record.holder_identity if record is not None else "nobody known"))
        return key

    shown(scene, look, f"{key} could not be changed")
    return done[-1]


def _held_again(scene: Scene, revision: int) -> str:
    """That a replica holds the lease, by a record written after `revision`."""

    def look() -> str | None:
        for kv in scene.gateway.range(scene.lock.lease, timeout=TIMEOUT).kvs:
            leader = scene.cluster.leader()
            if kv.mod_revision > revision and leader is not None:
                return f"{leader.name} holds the lease, at revision {kv.mod_revision}"
        return None

    return undone(scene, look, "no replica holds the lease")
