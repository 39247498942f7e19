"""What an error of a call means for its caller: a total, pure function of gRPC's status and etcd's words.

A write counts as without effect only where that is certain. Everything else may have been applied, whatever its
status code: etcd sends no abort, and members of one cluster phrase the same time-out under several codes.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from lockd.errors import (
    Compacted,
    LeaseNotFound,
    NoSpace,
    OutcomeUnknown,
    PermissionDenied,
    Rejected,
    StoreError,
    TooLarge,
    Unauthenticated,
    Unavailable,
)

_SLOW: Final = ("timed out", "timeout", "deadline", "handshake")


class _Rule(NamedTuple):
    """The first rule whose code and text fit decides. No code: any; the text is a part of the lower-case message."""

    code: str
    text: str
    kind: type[StoreError]
    remedy: str = ""


_CERTIFICATE: Final = "check cacert, cert and key, and that the endpoint speaks TLS"

NOT_CONNECTED: Final = "not connected"
"""How an error begins when there was no connection to send on."""

TIMED_OUT: Final = "DEADLINE_EXCEEDED"
"""The code of a call that its timeout ended."""

_FAILED_TO_CONNECT: Final = "failed to connect to all addresses"
_CONNECTING: Final = re.compile(rf"{_FAILED_TO_CONNECT}; last error: \w+: (?:ipv[46]:\S+: )?")

_CERTAIN: Final = (
    # Never sent: no connection, or etcd's interceptor turned it away before it was proposed.
    _Rule("UNAVAILABLE", "certificate_verify_failed", PermissionDenied, _CERTIFICATE),
    _Rule("UNAVAILABLE", "certificate verify failed", PermissionDenied, _CERTIFICATE),
    _Rule("UNAVAILABLE", "hostname verification check failed", PermissionDenied, _CERTIFICATE),
    _Rule("UNAVAILABLE", "is not in peer certificate", PermissionDenied, _CERTIFICATE),
    _Rule("UNAVAILABLE", "wrong_version_number", PermissionDenied, _CERTIFICATE),
    _Rule("UNAVAILABLE", _FAILED_TO_CONNECT, Unavailable),
    _Rule("UNAVAILABLE", "dns resolution failed", Unavailable),
    _Rule("UNAVAILABLE", "name resolution failure", Unavailable),
    _Rule("UNAVAILABLE", "etcdserver: no leader", Unavailable),
    _Rule("RESOURCE_EXHAUSTED", "database space exceeded", NoSpace, "make room, then disarm the alarm"),
    _Rule("RESOURCE_EXHAUSTED", "etcdserver: too many requests", Unavailable),
    _Rule("RESOURCE_EXHAUSTED", "client: sent message larger than max", TooLarge),
    _Rule("RESOURCE_EXHAUSTED", "grpc: received message larger than max", TooLarge),
    _Rule("RESOURCE_EXHAUSTED", "grpc: received message after decompression larger than max", TooLarge),
    _Rule("INVALID_ARGUMENT", "etcdserver: request is too large", TooLarge),
    _Rule("INVALID_ARGUMENT", "etcdserver: too many operations", TooLarge),
    _Rule("INVALID_ARGUMENT", "etcdserver: user name is empty", Unauthenticated, "etcd wants a user and a password"),
    _Rule("INVALID_ARGUMENT", "revision of auth store is old", Unauthenticated),
    _Rule("UNKNOWN", "auth: revision in header is old", Unauthenticated),  # 3.5.1, when it was to be applied
    _Rule("INVALID_ARGUMENT", "authentication failed", PermissionDenied, "check user and password"),
    _Rule("INVALID_ARGUMENT", "etcdserver:", Rejected),
    _Rule("OUT_OF_RANGE", "has been compacted", Compacted),
    _Rule("OUT_OF_RANGE", "is a future revision", Unavailable),  # this member lags; another may not
    _Rule("NOT_FOUND", "requested lease not found", LeaseNotFound),
    _Rule("NOT_FOUND", "etcdserver:", Rejected),
    _Rule("FAILED_PRECONDITION", "etcdserver: not leader", Unavailable),
    _Rule("FAILED_PRECONDITION", "etcdserver: not capable", Unavailable),
    _Rule("FAILED_PRECONDITION", "not supported for learner", Unavailable),
    _Rule("UNAVAILABLE", "not supported for learner", Unavailable),
    _Rule("FAILED_PRECONDITION", "etcdserver:", Rejected),
    _Rule("UNAUTHENTICATED", "", Unauthenticated),
    _Rule("PERMISSION_DENIED", "", PermissionDenied, "check the user's roles"),
    _Rule("UNIMPLEMENTED", "", Rejected, "is this an etcd of 3.4 or newer?"),
    _Rule("DATA_LOSS", "etcdserver: corrupt cluster", Rejected, "a person must look at the members' data"),
)


def classify(code: str, details: str, *, write: bool, operation: str = "", endpoint: str = "") -> StoreError:
    """The error to raise for a call that failed.

    Args:
        code: gRPC's status name, such as `UNAVAILABLE`.
        details: Its message.
        write: Could the call have changed anything?
        operation: Such as `KV/Txn`.
        endpoint: `host:port` of the member called.
    """
    words = details.lower()
    for rule in _CERTAIN:
        if rule.code == code and rule.text in words:
            text = f"{_brief(details) or code}{': ' if rule.remedy else ''}{rule.remedy}"
            return rule.kind(_line(operation, endpoint, text), operation=operation, endpoint=endpoint, code=code)
    kind = OutcomeUnknown if write else Unavailable
    text = f"{code} {_brief(details)}".rstrip()
    return kind(_line(operation, endpoint, text), operation=operation, endpoint=endpoint, code=code)


def never_connected(message: str) -> bool:
    """Does an error's message say that there was nothing to talk to: refused, unreachable, or a name without address?

    A member that is stopped may take the connection and say nothing: that is a matter of time.
    """
    words = message.lower()
    certain = NOT_CONNECTED in words or "resolution" in words
    return certain and not any(slow in words for slow in _SLOW)


def _line(operation: str, endpoint: str, text: str) -> str:
    where = " of ".join(filter(None, (operation, endpoint)))
    return f"{where}: {text}" if where else text


def _brief(details: str) -> str:
    """One line, without what gRPC repeats."""
    words = " ".join(details.removeprefix("etcdserver: ").split())
    return _CONNECTING.sub(f"{NOT_CONNECTED}: ", words)[:300]
