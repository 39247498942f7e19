"""What keeps a call from being answered, as gRPC's standard codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import grpc

from lockd.errors import ConfigError, HistoryLost, LockdError, NoSpace, StoreError
from lockd.etcd.classify import TIMED_OUT

if TYPE_CHECKING:
    from collections.abc import Sequence

GOING_DOWN = "this lockd is going down: go on at another one"


class Refusal(LockdError):
    """An answer that is an error, with its status."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code = code
        self.details = details


def invalid(problems: Sequence[str]) -> Refusal:
    """What was sent can't be right; tells every problem."""
    return Refusal(grpc.StatusCode.INVALID_ARGUMENT, "; ".join(problems))


def refusal(error: LockdError) -> Refusal:
    """An error as the caller is to see it: what it can do about it."""
    match error:
        case Refusal():
            return error
        case ConfigError(problems=problems):
            return invalid(problems)
        case HistoryLost():
            return Refusal(grpc.StatusCode.UNAVAILABLE, f"{error}; {GOING_DOWN}")
        case NoSpace():
            return Refusal(
                grpc.StatusCode.UNAVAILABLE, "etcd is out of space: nothing can be written until it has some"
            )
        case StoreError(code=code) if code == TIMED_OUT:
            return Refusal(grpc.StatusCode.DEADLINE_EXCEEDED, f"etcd did not answer in time: {error}")
        case StoreError():
            return Refusal(grpc.StatusCode.UNAVAILABLE, f"etcd does not serve this call: {error}")
        case _:
            return Refusal(grpc.StatusCode.INTERNAL, str(error))


def refuse(context: grpc.ServicerContext, error: LockdError) -> NoReturn:
    """End the call with the error's status."""
    told = refusal(error)
    context.abort(told.code, told.details)
    raise AssertionError("abort raises")
