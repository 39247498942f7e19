"""Unary calls: one request to one member, with its deadline, token, span, classed error and judged header."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import grpc

from lockd.errors import HistoryLost, OutcomeUnknown, PermissionDenied, StoreError, Unauthenticated, Unavailable
from lockd.etcd.auth import NO_TOKEN, Authenticator
from lockd.etcd.channel import AUTHENTICATE, HAS_LEADER, STATUS, TXN
from lockd.etcd.classify import NOT_CONNECTED, classify
from lockd.etcd.telemetry import CallSpan
from lockd.etcd.tls import diagnose

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock
    from lockd.etcd.auth import Receiver
    from lockd.etcd.channel import Channels, Method
    from lockd.etcd.connection import Connection
    from lockd.etcd.picker import Picker
    from lockd.etcd.witness import Witness

_LOGINS: Final = 2
"""How often one call authenticates anew: a token may be outdated again by the time it is used."""

_MOMENT: Final = 0.05
_EXAMINATION: Final = 1.0
"""Seconds to find out why a member could not be connected to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call to make.

    Attributes:
        write: Could it change anything?
        linearizable: Is the reply's revision that of the cluster, not only of the member?
        timeout: Seconds until it is given up.
        copy: 0, or its number among identical copies, each of which goes to another member.
        endpoint: The member to call; "" to have one picked.
        needs_leader: Must the member know a leader? One that doesn't refuses the call at once.
    """

    method: Method
    message: Any
    write: bool
    linearizable: bool
    timeout: float
    copy: int = 0
    endpoint: str = ""
    needs_leader: bool = True


def status_request(endpoint: str, timeout: float) -> Request:
    """To ask a member how it is; one without a leader tells that."""
    return Request(
        method=STATUS,
        message=STATUS.request(),
        write=False,
        linearizable=False,
        timeout=timeout,
        endpoint=endpoint,
        needs_leader=False,
    )


class Caller:
    """Makes calls. Thread-safe."""

    def __init__(
        self,
        connection: Connection,
        channels: Channels,
        picker: Picker,
        *,
        witness: Witness,
        clock: Clock,
        auth: Authenticator | None = None,
    ) -> None:
        """`auth`: another caller's, to share its token."""
        self.channels = channels
        self.picker = picker
        self.witness = witness
        self.clock = clock
        self.auth = auth or Authenticator(self._login if connection.user is not None else None)
        self._connection = connection
        self._examined: set[str] = set()

    def call(self, request: Request) -> Any:
        """Make a call and wait for its reply.

        Raises:
            StoreError: As `classify` says; HistoryLost where the reply is of another history.
        """
        end = self.clock.now() + request.timeout
        logins = 0
        while True:
            token = self.auth.token(end - self.clock.now())
            if self.clock.now() >= end:
                raise _too_late(request)
            flight = _Flight(self, request, end)
            try:
                response = flight.stub()(request.message, timeout=flight.left(), metadata=flight.metadata(token))
            except (grpc.RpcError, ValueError) as error:
                failure = flight.failed(error)
                if logins < _LOGINS and isinstance(failure, Unauthenticated) and self.auth.refuse(token):
                    logins += 1
                    continue
                raise self._diagnosed(failure, end) from error
            if lost := flight.landed(response):
                raise lost
            return response

    def send(self, request: Request, done: Callable[[Any], None]) -> Sending:
        """Make a call and return at once; `done` gets the response or a StoreError, once, and must not block."""
        sending = Sending(self, request, done)
        self.auth.with_token(sending.depart)
        return sending

    def _diagnosed(self, failure: StoreError, end: float) -> StoreError:
        """The error to raise where a member was there and no connection came about: the first time, TLS is asked."""
        endpoint, text = failure.endpoint, str(failure)
        there = NOT_CONNECTED in text and not any(words in text for words in ("refused", "timed out", "unreachable"))
        if not there or endpoint in self._examined:
            return failure
        self._examined.add(endpoint)
        problem = diagnose(self._connection, endpoint, timeout=min(_EXAMINATION, max(_MOMENT, end - self.clock.now())))
        if problem is None:
            return failure
        self._examined.discard(endpoint)  # as long as it is wrong it is told
        return PermissionDenied(problem, operation=failure.operation, endpoint=endpoint, code=failure.code)

    def _login(self, receive: Receiver) -> None:
        """Fetch a token; the call itself goes without one."""
        request = Request(
            method=AUTHENTICATE,
            message=AUTHENTICATE.request(name=self._connection.user, password=self._connection.password),
            write=False,
            linearizable=False,
            timeout=self._connection.command_timeout,
        )

        def done(response: Any) -> None:
            if not isinstance(response, StoreError):
                receive(response.token)
            elif "authentication is not enabled" in str(response):
                receive(NO_TOKEN)
            else:
                receive(response)

        Sending(self, request, done, logins=_LOGINS).depart(NO_TOKEN)


class Sending:
    """A call that somebody is called back for; a `lockd.ports.Call`."""

    def __init__(self, caller: Caller, request: Request, done: Callable[[Any], None], *, logins: int = 0) -> None:
        self._caller = caller
        self._request = request
        self._done = done
        self._end = caller.clock.now() + request.timeout
        self._logins = logins
        self._lock = threading.Lock()
        self._cancelled = False
        self._flying: tuple[_Flight, Any] | None = None

    def depart(self, token: str | StoreError) -> None:
        """Send it with this token, or give the error that there is none."""
        if isinstance(token, StoreError):
            self._done(token)
            return
        with self._lock:
            cancelled = self._cancelled
        if cancelled or self._caller.clock.now() >= self._end:
            self._done(_too_late(self._request))
            return
        flight = _Flight(self._caller, self._request, self._end)
        try:
            future = flight.stub().future(self._request.message, timeout=flight.left(), metadata=flight.metadata(token))
        except ValueError as error:
            self._done(flight.failed(error))
            return
        with self._lock:
            self._flying, cancelled = (flight, future), self._cancelled
        if cancelled:
            future.cancel()
        future.add_done_callback(lambda landed: self._arrive(flight, token, landed))

    def cancel(self) -> None:
        """Stop waiting for it; it may still be applied. `done` gets an error at once, unless it had its result."""
        with self._lock:
            self._cancelled, flying = True, self._flying
        if flying is not None:
            flight, future = flying
            flight.give_up()  # at once, for the next call: its own end comes from another thread
            future.cancel()

    def _arrive(self, flight: _Flight, token: str, future: Any) -> None:
        if future.code() is grpc.StatusCode.OK:
            response = future.result()
            self._done(flight.landed(response) or response)
            return
        failure = flight.failed(future)
        if self._logins < _LOGINS and isinstance(failure, Unauthenticated) and self._caller.auth.refuse(token):
            self._logins += 1
            self._caller.auth.with_token(self.depart)
            return
        self._done(failure)


def _too_late(request: Request) -> Unavailable:
    """For a call that was cancelled, or whose time was up, before it was sent."""
    name = request.method.name
    return Unavailable(f"{name}: given up before it was sent", operation=name, code="CANCELLED")


class _Flight:
    """One request on its way to one member."""

    __slots__ = ("_call", "_caller", "_end", "_endpoint", "_floor", "_request", "_span")

    def __init__(self, caller: Caller, request: Request, end: float) -> None:
        now = caller.clock.now()
        self._caller = caller
        self._request = request
        self._end = end
        self._endpoint = request.endpoint or caller.picker.pick(now, copy=request.copy)
        self._floor = caller.witness.sending()
        self._call = caller.picker.sent(self._endpoint, now)
        self._span = CallSpan(request.method, self._endpoint, caller.clock)

    def stub(self) -> Any:
        """The method to invoke; ValueError when the channels are closed."""
        return self._caller.channels.unary(self._endpoint, self._request.method)

    def metadata(self, token: str) -> tuple[tuple[str, str], ...]:
        """What goes with the call."""
        return (*metadata(token, needs_leader=self._request.needs_leader), *self._span.metadata)

    def left(self) -> float:
        """Seconds until the deadline, not below 0."""
        return max(0.0, self._end - self._caller.clock.now())

    def landed(self, response: Any) -> HistoryLost | None:
        """It was answered; the result is an error if by another history."""
        header = response.header
        self._finish(well=True)
        try:
            if self._request.linearizable:
                self._caller.witness.judge(
                    header.cluster_id, header.revision, floor=self._floor, endpoint=self._endpoint
                )
            else:
                self._caller.witness.recognize(header.cluster_id, endpoint=self._endpoint)
        except HistoryLost as error:
            self._span.failed(error)
            return error
        succeeded = response.succeeded if self._request.method is TXN else None
        self._span.succeeded(header, txn=succeeded)
        return None

    def failed(self, error: Any) -> StoreError:
        """It brought a gRPC error (or, on closed channels, a ValueError): the classed one."""
        operation, write = self._request.method.name, self._request.write
        failure: StoreError
        if isinstance(error, ValueError):
            failure = Unavailable(f"{operation}: the connection is closed", operation=operation, code="CANCELLED")
        else:
            code, details = error.code().name, error.details() or ""
            failure = classify(code, details, write=write, operation=operation, endpoint=self._endpoint)
        cancelled = failure.code == "CANCELLED"
        self._finish(well=None if cancelled else not isinstance(failure, Unavailable | OutcomeUnknown))
        self._span.failed(failure)
        return failure

    def give_up(self) -> None:
        """Nobody waits for it any more."""
        self._finish(well=None)

    def _finish(self, *, well: bool | None) -> None:
        self._caller.picker.done(self._endpoint, self._call, self._caller.clock.now(), well=well)


def metadata(token: str, *, needs_leader: bool = True) -> tuple[tuple[str, str], ...]:
    """What goes with each call and each stream."""
    leader = (HAS_LEADER,) if needs_leader else ()
    return (*leader, ("token", token)) if token else leader
