"""What the lock says to a store, and what a store answers: values and interfaces, no I/O.

The first half is etcd's transaction language as plain values. The second half is what an election asks of its record
store. Both have a real implementation on etcd (`lockd.etcd`, `lockd.store`) and a fake one for tests.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockd.errors import StoreError
    from lockd.record import HistoryEntry, LeaderRecord, TermValue

# --- etcd's transaction language -------------------------------------------------------------------------------------
# Structs: several of them are made for each object that is written or watched.


class KeyValue(msgspec.Struct, frozen=True, gc=False):
    """A key as etcd holds it at some revision."""

    key: str
    value: bytes
    mod_revision: int
    create_revision: int = 0
    version: int = 0
    lease: int = 0


class Field(Enum):
    """What a compare looks at."""

    MOD = "mod"
    CREATE = "create"
    VALUE = "value"


class Compare(msgspec.Struct, frozen=True, gc=False):
    """`field` of `key` equals `operand`; an absent key has revision 0 and equals no value.

    etcd evaluates all compares of a transaction, nested ones too, before any of its puts.
    """

    key: str
    field: Field
    operand: int | bytes


class Put(msgspec.Struct, frozen=True, gc=False):
    """Write a value; `lease` is an etcd lease id, 0 for none."""

    key: str
    value: bytes
    lease: int = 0


class Delete(msgspec.Struct, frozen=True, gc=False):
    """Remove one key."""

    key: str


class Get(msgspec.Struct, frozen=True, gc=False):
    """Read one key."""

    key: str


class Txn(msgspec.Struct, frozen=True, gc=False):
    """If all of `compares` hold then do `then`, else do `otherwise`, atomically.

    Limits of etcd: 128 compares or operations at a level, one put per key in the whole transaction, 1.5 MiB.
    """

    compares: tuple[Compare, ...]
    then: tuple[Op, ...]
    otherwise: tuple[Op, ...] = ()


Op = Put | Delete | Get | Txn


class PutReply(msgspec.Struct, frozen=True, gc=False):
    """A put was applied."""


class DeleteReply(msgspec.Struct, frozen=True, gc=False):
    """A delete was applied to `deleted` keys."""

    deleted: int


class GetReply(msgspec.Struct, frozen=True, gc=False):
    """What a get found: None when the key is absent."""

    kv: KeyValue | None


class TxnReply(msgspec.Struct, frozen=True, gc=False):
    """The branch taken and its replies, in order. `revision` is the header's (a nested reply repeats the outer one)."""

    succeeded: bool
    revision: int
    replies: tuple[OpReply, ...]


OpReply = PutReply | DeleteReply | GetReply | TxnReply


class Call(Protocol):
    """A call on its way."""

    def cancel(self) -> None:
        """Stop waiting for it; it may still be applied."""
        ...


# --- what an election asks of its record store -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LockName:
    """Names the keys of one lock.

    Attributes:
        prefix: Such as `/lockd`, without a slash at its end.
    """

    prefix: str
    namespace: str
    name: str

    @property
    def lease(self) -> str:
        return f"{self.prefix}/leases/{self.namespace}/{self.name}"

    @property
    def term(self) -> str:
        return f"{self.prefix}/terms/{self.namespace}/{self.name}"

    @property
    def history(self) -> str:
        return f"{self.prefix}/history/{self.namespace}/{self.name}"

    @property
    def switchover(self) -> str:
        return f"{self.prefix}/switchovers/{self.namespace}/{self.name}"

    @property
    def candidates(self) -> str:
        """The prefix of the candidates' keys, with its slash."""
        return f"{self.prefix}/candidates/{self.namespace}/{self.name}/"


class Which(Enum):
    """The keys that an election watches."""

    LEASE = "lease"
    TERM = "term"
    HISTORY = "history"
    SWITCHOVER = "switchover"
    CANDIDATE = "candidate"


@dataclass(frozen=True, slots=True)
class Seen:
    """One key as seen: its value at its mod revision; `value` None and the revision at which it was known absent.

    A key that has never existed is `Seen(0, None)` in an else branch of a store without writes.
    """

    revision: int
    value: bytes | None

    @property
    def mod_revision(self) -> int:
        """What a compare of this state must name: 0 when the key is absent."""
        return 0 if self.value is None else self.revision


@dataclass(frozen=True, slots=True)
class View:
    """The lock's keys, read at one revision. `history` is None where the reply doesn't carry it (else branches)."""

    revision: int
    lease: Seen
    term: Seen
    history: Seen | None = None


@dataclass(frozen=True, slots=True)
class Acquire:
    """Begin a term if lease and term key are as compared (0: absent): put lease, term and history."""

    record: LeaderRecord
    term: TermValue
    history: tuple[HistoryEntry, ...]
    lease_revision: int
    term_revision: int


@dataclass(frozen=True, slots=True)
class Renew:
    """Put the lease if it is at `lease_revision` and the term is mine (mod revision and value)."""

    record: LeaderRecord
    term: TermValue
    lease_revision: int
    token: int


@dataclass(frozen=True, slots=True)
class Release:
    """Give the term back: put an empty lease and term, the history and the riders, if both are mine.

    The lease is mine at `lease_revision`, and as the renewal on its way makes it: which of the two etcd applies first
    is not known, and the release may be the last thing that this process does.
    """

    record: LeaderRecord
    term: TermValue
    """The value that the term key must have: the holder's."""
    released: TermValue
    """The value it gets."""
    history: tuple[HistoryEntry, ...]
    lease_revision: int
    token: int
    overtaken: LeaderRecord | None = None
    """What an unsettled renewal puts; None when there is none."""


Transaction = Acquire | Renew | Release


@dataclass(frozen=True, slots=True)
class Applied:
    """A copy of a transaction was applied. `view` is the else branch's; None when it succeeded."""

    succeeded: bool
    revision: int
    view: View | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A copy brought no applied reply. It may still be applied, whatever the error says of this copy."""

    error: StoreError


@dataclass(frozen=True, slots=True)
class KeyEvent:
    """A watched key changed. `key` is the whole key; a deletion has `seen.value` None and its tombstone's revision."""

    which: Which
    key: str
    seen: Seen


class RecordStore(Protocol):
    """The lock's keys. Every method returns at once; answers come through the callback, from another thread."""

    def read(self, done: Callable[[View | StoreError], None], *, timeout: float) -> Call:
        """Read lease, term and history at one revision, linearizably."""
        ...

    def send(
        self,
        transaction: Transaction,
        done: Callable[[Applied | Failed], None],
        *,
        copy: int,
        timeout: float,
        riders: tuple[Put, ...] = (),
    ) -> Call:
        """Send one copy of a transaction.

        Args:
            copy: 0 for the first; each further one goes to another member where there is one.
            timeout: Seconds after which this copy is given up (it may still be applied).
            riders: Further puts of a release, the same in each copy.
        """
        ...

    def watch(self, sink: Callable[[KeyEvent | View], None]) -> Call:
        """Deliver each change of the watched keys, in revision order per key, until cancelled.

        It begins with the present state of each key that exists and resumes by itself; after a gap that can't be
        closed (compaction) it delivers the present state again, and deletions for what is gone. Whole reads that others
        have made may come in between.
        """
        ...
