"""HTTP/2's frames, told apart in a stream of bytes that comes in pieces; what is compressed in them stays so."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client says first."""

HEAD: Final = 9
"""Bytes before a frame's payload."""

END_STREAM: Final = 0x1
PADDED: Final = 0x8


class Kind(IntEnum):
    """The frames that matter here."""

    DATA = 0
    HEADERS = 1
    RST_STREAM = 3


@dataclass(frozen=True, slots=True)
class Part:
    """What one piece of the stream has of one frame.

    Attributes:
        start: Where in the piece it begins; a head that began in the piece before counts from here, too.
        first: Does the payload begin here?
        last: Does it end here?
        payload: What there is of it.
    """

    kind: int
    flags: int
    stream: int
    start: int
    first: bool
    last: bool
    payload: bytes

    @property
    def ends_stream(self) -> bool:
        """Is it the end of its stream's side?"""
        ending = self.kind in (Kind.DATA, Kind.HEADERS) and bool(self.flags & END_STREAM)
        return self.last and (ending or self.kind == Kind.RST_STREAM)


class Frames:
    """One direction of one connection. `strange` says that it isn't HTTP/2, and nothing is told of it any more."""

    def __init__(self, *, preface: bool) -> None:
        """Begin with the connection.

        Args:
            preface: Is it the client's side?
        """
        self.strange = False
        self._preface = PREFACE if preface else b""
        self._head = b""
        self._kind = self._flags = self._stream = self._left = 0
        self._begun = True

    def feed(self, data: bytes) -> Iterator[Part]:
        """The parts of frames in a piece, in order. All of them must be taken."""
        at = 0
        if self._preface:
            at = min(len(self._preface), len(data))
            if self._preface[:at] != data[:at]:
                self.strange = True
            self._preface = self._preface[at:]
        while at < len(data) and not self.strange:
            start = at
            if not self._left and self._begun:
                at += self._take_head(data, at)
                if len(self._head) < HEAD:
                    return
                self._open()
            size = min(self._left, len(data) - at)
            first, self._begun = not self._begun, True
            self._left -= size
            yield Part(self._kind, self._flags, self._stream, start, first, not self._left, data[at : at + size])
            at += size

    def _take_head(self, data: bytes, at: int) -> int:
        part = data[at : at + HEAD - len(self._head)]
        self._head += part
        return len(part)

    def _open(self) -> None:
        head, self._head = self._head, b""
        self._left = int.from_bytes(head[:3])
        self._kind, self._flags = head[3], head[4]
        self._stream = int.from_bytes(head[5:]) & 0x7FFFFFFF
        self._begun = False
