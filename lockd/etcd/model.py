"""What the gateway takes and gives, as plain values, and their translation to and from etcd's messages.

Keys are text here and bytes in etcd: bytes that are no UTF-8 survive the way there and back (surrogate escapes).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lockd.etcd import wire
from lockd.ports import (
    Compare,
    Delete,
    DeleteReply,
    Field,
    Get,
    GetReply,
    KeyValue,
    Put,
    PutReply,
    Txn,
    TxnReply,
)

if TYPE_CHECKING:
    from lockd.errors import StoreError
    from lockd.ports import Op, OpReply

_EQUAL: Final = 0
_CREATE, _MOD, _VALUE = 1, 2, 3  # etcd's CompareTarget


@dataclass(frozen=True, slots=True)
class RangeReply:
    """What a range found.

    Attributes:
        kvs: In key order.
        count: Keys in the range, more than `kvs` holds if it was limited.
        more: Was it limited?
        revision: The store's when it was read, also where an older one was asked for.
    """

    kvs: tuple[KeyValue, ...]
    count: int
    more: bool
    revision: int


@dataclass(frozen=True, slots=True)
class Listing:
    """All keys of a prefix as they were at `revision`, in key order."""

    kvs: tuple[KeyValue, ...]
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberStatus:
    """What a member says of itself.

    Attributes:
        leader: The raft leader's member id; 0 while it knows of none.
        db_size: Bytes of the database file; `db_size_in_use` without what defragmenting would free.
        errors: Alarms and the like, in etcd's words.
    """

    endpoint: str
    member_id: int
    cluster_id: int
    version: str
    leader: int
    raft_term: int
    raft_index: int
    raft_applied_index: int
    revision: int
    db_size: int
    db_size_in_use: int
    errors: tuple[str, ...]
    is_learner: bool


@dataclass(frozen=True, slots=True)
class WatchTarget:
    """What a watch follows: a key, or all keys that begin with it.

    Attributes:
        start_revision: The first revision to deliver; 0 for what comes after the watch was created.
        start: The first key to follow of those with the prefix; "" for all of them.
    """

    key: str
    prefix: bool = False
    start_revision: int = 0
    start: str = ""

    @property
    def range(self) -> tuple[bytes, bytes]:
        """`key` and `range_end` of a request."""
        first, end = key_range(self.key, prefix=self.prefix)
        return encode_key(self.start) or first, end


class WatchEvent(msgspec.Struct, frozen=True, gc=False):
    """One change of a key. `value` None is a deletion, whose `mod_revision` is that of its tombstone."""

    key: str
    value: bytes | None
    mod_revision: int
    create_revision: int = 0
    version: int = 0
    lease: int = 0


@dataclass(frozen=True, slots=True)
class WatchBatch:
    """Events of one target in revision order, complete up to `revision`: nothing at or below it is still to come."""

    target: WatchTarget
    events: tuple[WatchEvent, ...]
    revision: int


@dataclass(frozen=True, slots=True)
class WatchProgress:
    """Without an event, the target is complete up to `revision`."""

    target: WatchTarget
    revision: int


@dataclass(frozen=True, slots=True)
class WatchCompacted:
    """History that the target has not seen is gone. List again, then `Watch.follow` it from the list's revision + 1.

    Attributes:
        compact_revision: The oldest revision that etcd still has.
    """

    target: WatchTarget
    compact_revision: int


@dataclass(frozen=True, slots=True)
class WatchInterrupted:
    """The stream broke; it is being reopened and will resume where it was.

    Each class of error is told once, until something arrives again.

    Attributes:
        error: Why. After HistoryLost nothing comes any more; on PermissionDenied a person must act.
    """

    error: StoreError


_PUT: Final = PutReply()

WatchItem = WatchBatch | WatchProgress | WatchCompacted | WatchInterrupted
"""What a watch delivers."""


def encode_key(key: str) -> bytes:
    return key.encode("utf-8", "surrogateescape")


def decode_key(key: bytes) -> str:
    return key.decode("utf-8", "surrogateescape")


def range_end(key: bytes) -> bytes:
    """The end of the range of all keys that begin with `key`; etcd's word for "to the last key" if there is none."""
    trimmed = key.rstrip(b"\xff")
    return trimmed[:-1] + bytes((trimmed[-1] + 1,)) if trimmed else b"\0"


def key_range(key: str, *, prefix: bool) -> tuple[bytes, bytes]:
    """`key` and `range_end` of a request."""
    encoded = encode_key(key)
    if not prefix:
        return encoded, b""
    return encoded or b"\0", range_end(encoded)


def key_value(kv: Any) -> KeyValue:
    """A KeyValue from its message."""
    return KeyValue(decode_key(kv.key), kv.value, kv.mod_revision, kv.create_revision, kv.version, kv.lease)


def txn_request(txn: Txn) -> Any:
    """The TxnRequest of a transaction."""
    request = wire.TxnRequest()
    _fill(request, txn)
    return request


def writes(txn: Txn) -> bool:
    """Could it change anything?"""
    return any(
        isinstance(op, Put | Delete) or (isinstance(op, Txn) and writes(op)) for op in (*txn.then, *txn.otherwise)
    )


def txn_reply(response: Any, revision: int) -> TxnReply:
    """A TxnReply from a TxnResponse whose outer header has `revision`."""
    return TxnReply(response.succeeded, revision, tuple(_reply(reply, revision) for reply in response.responses))


def range_reply(response: Any) -> RangeReply:
    """A RangeReply from a RangeResponse."""
    return RangeReply(tuple(map(key_value, response.kvs)), response.count, response.more, int(response.header.revision))


def member_status(endpoint: str, response: Any) -> MemberStatus:
    """A MemberStatus from a StatusResponse."""
    header = response.header
    return MemberStatus(
        endpoint=endpoint,
        member_id=header.member_id,
        cluster_id=header.cluster_id,
        version=response.version,
        leader=response.leader,
        raft_term=response.raftTerm,
        raft_index=response.raftIndex,
        raft_applied_index=response.raftAppliedIndex,
        revision=header.revision,
        db_size=response.dbSize,
        db_size_in_use=response.dbSizeInUse,
        errors=tuple(response.errors),
        is_learner=response.isLearner,
    )


def watch_event(event: Any) -> WatchEvent:
    """A WatchEvent from an Event message."""
    kv = event.kv
    value = None if event.type == 1 else kv.value  # 1: DELETE
    return WatchEvent(decode_key(kv.key), value, kv.mod_revision, kv.create_revision, kv.version, kv.lease)


def _fill(request: Any, txn: Txn) -> None:
    """Fill a TxnRequest in place: a message made apart would be copied into the one that holds it, level by level."""
    for compare in txn.compares:
        _compare(request.compare.add(), compare)
    for op in txn.then:
        _operation(request.success.add(), op)
    for op in txn.otherwise:
        _operation(request.failure.add(), op)


def _compare(message: Any, compare: Compare) -> None:
    message.key = encode_key(compare.key)
    message.result = _EQUAL
    match compare.field:
        case Field.MOD:
            message.target, message.mod_revision = _MOD, compare.operand
        case Field.CREATE:
            message.target, message.create_revision = _CREATE, compare.operand
        case Field.VALUE:
            message.target, message.value = _VALUE, compare.operand


def _operation(message: Any, op: Op) -> None:
    match op:
        case Put():
            put = message.request_put
            put.key, put.value, put.lease = encode_key(op.key), op.value, op.lease
        case Delete():
            message.request_delete_range.key = encode_key(op.key)
        case Get():
            message.request_range.key = encode_key(op.key)
        case Txn():
            message.request_txn.SetInParent()  # one without anything in it counts too
            _fill(message.request_txn, op)


def _reply(reply: Any, revision: int) -> OpReply:
    match reply.WhichOneof("response"):
        case "response_put":
            return _PUT
        case "response_delete_range":
            return DeleteReply(reply.response_delete_range.deleted)
        case "response_range":
            kvs = reply.response_range.kvs
            return GetReply(key_value(kvs[0]) if kvs else None)
        case _:
            return txn_reply(reply.response_txn, revision)
