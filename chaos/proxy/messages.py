"""etcd's transactions and their replies, told from the first bytes of a gRPC message.

A call's name is compressed by what its connection has said before, so the message is looked at instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ENVELOPE: Final = 5
"""Bytes before a message: is it compressed, and its length."""

_VARINT: Final = 0
_BYTES: Final = 2

_COMPARE: Final = {1: _VARINT, 2: _VARINT, 3: _BYTES, 4: _VARINT, 5: _VARINT, 6: _VARINT, 7: _BYTES, 8: _VARINT} | {
    64: _BYTES
}
_KEY: Final = 3
_OPERATION: Final = {1: _BYTES, 2: _BYTES, 3: _BYTES, 4: _BYTES}
_HEADER: Final = 1
_REVISION: Final = 3
_SUCCEEDED: Final = 2


class MoreNeeded(Exception):
    """The bytes end before it can be told."""


class Strange(Exception):
    """It isn't what was looked for."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The beginning of a transaction's reply.

    Attributes:
        succeeded: Its compares held: it was committed.
    """

    revision: int
    succeeded: bool


def is_transaction(message: bytes) -> bool:
    """Does a request begin as a transaction does: with a compare, or without any with an operation?

    Raises:
        MoreNeeded: Its first field has not come whole.
    """
    try:
        length = _opened(message)
        if not length:
            return False
        number, kind, value, _ = _field(message, ENVELOPE, ENVELOPE + length)
        if kind != _BYTES or not isinstance(value, bytes):
            return False
        known = {1: _COMPARE, 2: _OPERATION}.get(number)
        if known is None:
            return False
        found = list(_fields(value))
    except Strange:
        return False
    if any(known.get(each) != kind for each, kind, _ in found):
        return False
    return any(each == _KEY for each, _, _ in found) if number == 1 else len(found) == 1


def reply(message: bytes) -> Reply:
    """The beginning of a transaction's reply.

    Raises:
        MoreNeeded: Not enough of it has come.
        Strange: It is something else.
    """
    end = ENVELOPE + _opened(message)
    number, _, header, at = _field(message, ENVELOPE, end)
    if number != _HEADER or not isinstance(header, bytes):
        raise Strange
    revision = next((value for each, _, value in _fields(header) if each == _REVISION), 0)
    if not isinstance(revision, int):
        raise Strange
    if at == end:
        return Reply(revision, succeeded=False)
    tag, at = _varint(message, at, end)
    return Reply(revision, succeeded=tag == _SUCCEEDED << 3 and _varint(message, at, end)[0] == 1)


def _opened(message: bytes) -> int:
    """The length of a message that isn't compressed."""
    if len(message) < ENVELOPE:
        raise MoreNeeded
    if message[0]:
        raise Strange
    return int.from_bytes(message[1:ENVELOPE])


def _fields(message: bytes) -> Iterator[tuple[int, int, int | bytes]]:
    """All fields of a whole message."""
    at = 0
    while at < len(message):
        number, kind, value, at = _field(message, at, len(message))
        yield number, kind, value


def _field(message: bytes, at: int, end: int) -> tuple[int, int, int | bytes, int]:
    """Number, wire type and value of the field at a place of a message that goes to `end`, and what follows it."""
    tag, at = _varint(message, at, end)
    number, kind = tag >> 3, tag & 7
    if kind == _VARINT:
        value, at = _varint(message, at, end)
        return number, kind, value, at
    if kind != _BYTES:
        raise Strange
    size, at = _varint(message, at, end)
    if at + size > end:
        raise Strange
    if at + size > len(message):
        raise MoreNeeded
    return number, kind, message[at : at + size], at + size


def _varint(message: bytes, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= end or shift > 63:
            raise Strange
        if at >= len(message):
            raise MoreNeeded
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
