"""HTTP/2 as bytes: frames and gRPC messages written by hand."""

from __future__ import annotations

from chaos.proxy.frames import END_STREAM, PREFACE, Kind

SETTINGS = 4


def frame(kind: int, stream: int, payload: bytes = b"", *, flags: int = 0) -> bytes:
    """One frame."""
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


def message(payload: bytes) -> bytes:
    """A gRPC message."""
    return b"\0" + len(payload).to_bytes(4) + payload


def request(stream: int, payload: bytes) -> bytes:
    """A unary call's request."""
    return frame(Kind.HEADERS, stream, b"compressed") + frame(Kind.DATA, stream, message(payload), flags=END_STREAM)


def response(stream: int, payload: bytes) -> bytes:
    """Its response."""
    return (
        frame(Kind.HEADERS, stream, b"compressed")
        + frame(Kind.DATA, stream, message(payload))
        + frame(Kind.HEADERS, stream, b"trailers", flags=END_STREAM)
    )


HELLO = PREFACE + frame(SETTINGS, 0, bytes(6))
"""What a client begins with."""

GREETING = frame(SETTINGS, 0, bytes(6))
"""What a server begins with."""
