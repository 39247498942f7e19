"""Looks at the calls on one connection to etcd, where a rule asks for that: which to fail, whose reply to swallow."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, Protocol

from chaos.proxy.frames import Frames, Kind
from chaos.proxy.messages import MoreNeeded, Strange, is_transaction, reply

if TYPE_CHECKING:
    from chaos.proxy.frames import Part
    from chaos.proxy.rule import DropReply

MOST: Final = 65536
"""Bytes of a message in which its beginning must have come."""


class Orders(Protocol):
    """What is asked for now."""

    def fail_call(self) -> bool:
        """May the call that begins be failed? It counts, if so."""
        ...

    def drop(self) -> DropReply | None:
        """Which reply is to be swallowed; None: none, or no more."""
        ...

    def dropped(self, revision: int) -> None:
        """A reply was swallowed."""
        ...


class End(Enum):
    """What is to be done with the connection."""

    RESET = "reset"
    DEAFEN = "deafen"
    """From now on nothing of the destination is passed on."""


@dataclass(slots=True)
class _Call:
    """One stream, from its beginning on.

    Attributes:
        head: Of its request, until it is clear what it is.
        transaction: None: not clear yet.
        tail: The end of what has come of the request: a text may lie across two pieces.
        found: Does it hold the text that is looked for?
        chosen: Its reply is to be swallowed, if it was committed.
        answer: The beginning of its reply.
    """

    head: bytes = b""
    transaction: bool | None = None
    tail: bytes = b""
    found: bool = False
    chosen: bool = False
    answer: bytes = b""


@dataclass(slots=True)
class Screen:
    """One connection, from its beginning on: it must see all of it, in each direction."""

    orders: Orders
    _requests: Frames = field(default_factory=lambda: Frames(preface=True))
    _replies: Frames = field(default_factory=lambda: Frames(preface=False))
    _calls: dict[int, _Call] = field(default_factory=dict)
    _newest: int = 0

    def request(self, data: bytes) -> tuple[bytes, End | None]:
        """What of a piece from the source is to be passed on, and what is to be done then."""
        for part in self._requests.feed(data):
            if part.kind == Kind.HEADERS and part.first and part.stream > self._newest:
                self._newest = part.stream
                if self.orders.fail_call():
                    return data[: part.start], End.RESET
                if self.orders.drop() is not None:
                    self._calls[part.stream] = _Call()
            call = self._calls.get(part.stream)
            if call is not None and part.kind == Kind.DATA and not call.chosen:
                self._look(part, call)
            elif call is not None and part.kind == Kind.RST_STREAM:
                self._forget(part.stream)
        return data, None

    def response(self, data: bytes) -> tuple[bytes, End | None]:
        """What of a piece from the destination is to be passed on, and what is to be done then."""
        passed, end = data, None
        for part in self._replies.feed(data):
            call = self._calls.get(part.stream)
            if call is None or end is not None:
                continue
            order = self._judge(part, call) if part.kind == Kind.DATA and call.chosen else None
            if order is not None:
                # What of this call was passed on before tells nobody how it ended: that takes the whole message.
                passed, end = data[: part.start], End.DEAFEN if order.silent else End.RESET
            if part.ends_stream:
                self._forget(part.stream)
        return passed, end

    def _look(self, part: Part, call: _Call) -> None:
        """Is it a transaction, and one whose reply is to be swallowed?"""
        order = self.orders.drop()
        if order is None or call.transaction is False:
            return
        if call.transaction is None:
            call.head += part.payload
            try:
                call.transaction = is_transaction(call.head)
            except MoreNeeded:
                call.transaction = None if len(call.head) < MOST else False
        text = order.containing.encode()
        seen = call.tail + part.payload
        call.tail = seen[-len(text) :] if text else b""
        call.found = call.found or text in seen
        call.chosen = bool(call.transaction) and call.found

    def _judge(self, part: Part, call: _Call) -> DropReply | None:
        """How it is to be swallowed if it is the reply of a committed transaction, or one is asked for that isn't."""
        call.answer += part.payload
        try:
            found = reply(call.answer)
        except MoreNeeded:
            return None
        except Strange:
            call.chosen = False
            return None
        call.chosen = False
        order = self.orders.drop()
        if order is None or not (found.succeeded or order.refused):
            return None
        self.orders.dropped(found.revision)
        return order

    def _forget(self, stream: int) -> None:
        self._calls.pop(stream, None)
