"""Guarded writes: every write of a leader carries the proof that its term lasts, and etcd checks it.

The guard compares the term key's mod revision (the fencing token) and its bytes in the very transaction that writes.
The mod revision is what a successor changes; the bytes survive an etcd restored from a snapshot, whose revisions go
back, and a missing term key, which equals no value.

What is stored elsewhere, etcd can't guard: there the token is passed on, and a `Fence` refuses one older than the
newest it has seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol, Self

import msgspec

from lockd.errors import Fenced, ForeignToken
from lockd.ports import Compare, Delete, Field, Get, GetReply, KeyValue, Put, Txn, TxnReply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lockd.ports import Op


class Token(int):
    """A fencing token: the revision of the acquiring transaction, never 0 (an absent key's revision)."""

    def __new__(cls, revision: int) -> Self:
        if revision <= 0:
            raise ValueError(f"a fencing token is a revision above 0, not {revision}")
        return super().__new__(cls, revision)


@dataclass(frozen=True, slots=True)
class Newest:
    """The newest token seen, and the etcd cluster that it is of: tokens of two clusters can't be compared.

    Attributes:
        cluster: As LOCKD_CLUSTER_ID tells it; "" for not known, which is a cluster like any other.
    """

    cluster: str
    token: Token

    def admit(self, token: Token, cluster: str) -> Newest:
        """What is the newest once `token` has been let through. The same one again is: a holder acts more than once.

        Raises:
            Fenced: A newer one was seen: whoever shows this one holds the lock no more.
            ForeignToken: It is of another cluster.
        """
        if cluster != self.cluster:
            raise ForeignToken(
                f"token {token} is of etcd cluster {cluster or '(unknown)'}, "
                f"and those seen so far are of {self.cluster or '(unknown)'}: "
                "if that cluster has taken the place of this one, reset the fence",
                cluster=cluster,
            )
        if token < self.token:
            raise Fenced(f"token {token} is older than {self.token}: another holds the lock", token=token)
        return self if token == self.token else Newest(cluster, token)


class Shelf(Protocol):
    """Where a fence keeps what is the newest."""

    def update(self, change: Callable[[Newest | None], Newest | None]) -> None:
        """Put `change(what is there)`, with nobody else in between; what `change` raises leaves it as it was."""
        ...


class Fence:
    """Stands in front of what etcd doesn't store, and refuses those who hold the lock no more.

    What it stands in front of must be changed only after `check`, and before the next `check` may be answered: under
    one mutex or file lock, or in one transaction. Better is a store that compares the token itself, as it writes.

    Args:
        shelf: `lockd.shelves` has one in memory and one in a file.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def check(self, token: int, *, cluster: str = "") -> None:
        """Let a holder through, and nobody older from then on.

        Args:
            token: As LOCKD_FENCING_TOKEN, or `Leadership.token`.
            cluster: As LOCKD_CLUSTER_ID.

        Raises:
            ValueError: It is no token: not above 0.
            Fenced: A newer one was seen.
            ForeignToken: It is of another etcd cluster than those seen.
            OSError: The newest can't be read or kept.
        """
        shown = Token(token)
        self._shelf.update(lambda newest: Newest(cluster, shown) if newest is None else newest.admit(shown, cluster))

    def reset(self) -> None:
        """Forget: for a person, after etcd was restored or exchanged and all holders of before are gone."""
        self._shelf.update(lambda _: None)


@dataclass(frozen=True, slots=True)
class Guard:
    """One term, as its writes name it.

    Attributes:
        key: The term key.
        token: Its mod revision.
        value: Its bytes, as this term's acquire wrote them.
    """

    key: str
    token: Token
    value: bytes

    def compares(self) -> tuple[Compare, Compare]:
        return Compare(self.key, Field.MOD, self.token), Compare(self.key, Field.VALUE, self.value)


class ObjectWrite(msgspec.Struct, frozen=True, gc=False):
    """One object of a guarded write: put `value`, or delete it (None), if it is at `mod_revision` (0: absent).

    Attributes:
        lease: An etcd lease id to put it with; 0 for none.
        riders: Puts made with it and only with it, such as the event that tells who deleted it.
    """

    key: str
    mod_revision: int
    value: bytes | None
    lease: int = 0
    riders: tuple[Put, ...] = ()

    def branch(self) -> tuple[Op, ...]:
        change: Op = Delete(self.key) if self.value is None else Put(self.key, self.value, self.lease)
        return (change, *self.riders) if self.riders else (change,)


class WriteResult(msgspec.Struct, frozen=True, gc=False):
    """What became of one group of a guarded write.

    Attributes:
        applied: This copy of the transaction wrote the group.
        objects: When it did not: each object as it stands (None: absent), in the group's order. An earlier copy may
            have written it all the same; that shows in the object (for a bind: its uid and node).
    """

    applied: bool
    objects: tuple[KeyValue | None, ...] = ()


_APPLIED: Final = WriteResult(applied=True)


class GuardedReply(msgspec.Struct, frozen=True, gc=False):
    """The answer to a guarded write.

    Attributes:
        fenced: The term is over: no copy of this transaction can be applied any more.
        revision: The header's; a cache that has reached it has seen all that this transaction did.
        results: One for each group, in order.
    """

    fenced: bool
    revision: int
    results: tuple[WriteResult, ...]


@dataclass(frozen=True, slots=True)
class GuardedWrite:
    """Groups of object writes under one guard: each group is all or nothing, and stands or falls alone.

    A group is one object, or a gang. A nested else reads the group's objects, since a copy sent again would
    otherwise answer nothing that settles the first one.
    """

    guard: Guard
    groups: tuple[tuple[ObjectWrite, ...], ...]

    @classmethod
    def of(cls, guard: Guard, writes: Sequence[ObjectWrite]) -> GuardedWrite:
        """Each write a group of its own."""
        return cls(guard, tuple((write,) for write in writes))

    def txn(self) -> Txn:
        """The transaction: identical each time, so that it can be sent again."""
        reads: tuple[Op, ...] = tuple([Get(write.key) for group in self.groups for write in group])
        if self._large:
            reads = (Txn(compares=(), then=reads, otherwise=()),)
        return Txn(
            compares=self.guard.compares(),
            then=tuple(map(_nested, self.groups)),
            otherwise=(Get(self.guard.key), *reads),
        )

    @property
    def _large(self) -> bool:
        """Is it one group, of which etcd allows more if its reads are nested, too?"""
        return len(self.groups) == 1 and len(self.groups[0]) > 1

    def judge(self, reply: TxnReply) -> GuardedReply:
        """Read an applied reply to any copy of this transaction."""
        if reply.succeeded:
            return GuardedReply(fenced=False, revision=reply.revision, results=tuple(map(_inner, reply.replies)))
        inner = reply.replies[1] if self._large else None
        found = iter(inner.replies if isinstance(inner, TxnReply) else reply.replies[1:])
        results = tuple(
            WriteResult(applied=False, objects=tuple(_found(next(found)) for _ in group)) for group in self.groups
        )
        return GuardedReply(fenced=True, revision=reply.revision, results=results)

    def refuse(self) -> Fenced:
        """The error for a reply that is fenced."""
        return Fenced("a newer term began: the guarded write was refused", token=self.guard.token)


def operations(objects: int, groups: int, largest: int) -> int:
    """What etcd counts of a guarded write against `--max-txn-ops`: of each level what its longest list has, added up.

    Args:
        objects: In all of its groups.
        largest: In the largest of them.
    """
    if groups == 1 and objects > 1:
        return 2 + objects  # the guard's compares, or the term and the reads as one
    return max(2, groups, 1 + objects) + largest


def _nested(group: tuple[ObjectWrite, ...]) -> Txn:
    return Txn(
        compares=tuple([Compare(write.key, Field.MOD, write.mod_revision) for write in group]),
        then=group[0].branch() if len(group) == 1 else tuple([op for write in group for op in write.branch()]),
        otherwise=tuple([Get(write.key) for write in group]),
    )


def _inner(reply: object) -> WriteResult:
    if not isinstance(reply, TxnReply):
        raise TypeError(f"a nested reply is a TxnReply, not {type(reply).__name__}")
    if reply.succeeded:
        return _APPLIED
    return WriteResult(applied=False, objects=tuple(map(_found, reply.replies)))


def _found(reply: object) -> KeyValue | None:
    if not isinstance(reply, GetReply):
        raise TypeError(f"an else branch answers with GetReply, not {type(reply).__name__}")
    return reply.kv
