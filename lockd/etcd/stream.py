"""One watch stream to one member: asks it for signs of life, and ends when there are none."""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import grpc

from lockd.errors import PermissionDenied, StoreError, Unauthenticated, Unavailable
from lockd.etcd import model
from lockd.etcd.calls import metadata, status_request
from lockd.etcd.channel import WATCH
from lockd.etcd.classify import classify
from lockd.etcd.cursor import Frame, progress_is_ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lockd.etcd.calls import Caller
    from lockd.etcd.cursor import Create

_UNPROVEN: Final = 6
"""Silences that a stream survives which has never answered, as long as its member answers otherwise."""

_PROGRESS: Final = WATCH.request(progress_request={})
_STOP_POLL: Final = 0.2


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between two requests for a sign of life, and seconds without any after which a stream ends."""

    heartbeat: float = 1.0
    silence: float = 4.0


class Stream:
    """One stream to one member. Its requests, and the look-out for silence, run in the thread that gRPC sends from."""

    def __init__(
        self, caller: Caller, endpoint: str, pace: Pace, *, stopping: Callable[[], bool], renewed: bool
    ) -> None:
        """Open nothing yet.

        Args:
            stopping: Asked now and then whether to end.
            renewed: The stream before was refused, and the token is a new one.
        """
        self.fruitful = False
        """Has it shown anything but that it was created?"""
        self.endpoint = endpoint
        self._caller = caller
        self._clock = caller.clock
        self._endpoint = endpoint
        self._heartbeat = pace.heartbeat
        self._silence = pace.silence
        self._stopping = stopping
        self._renewed = renewed
        self._requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._token = ""
        self._call: Any = None
        self._lock = threading.Lock()
        self._ended = False
        self._heard = self._clock.now()
        self._opened = self._heard
        self._created = False
        self._delivering = False
        self._reason = ""

    def open(self) -> bool:
        """Ask the member how it is; the result tells if its progress can be relied on.

        Raises:
            StoreError: It can't be watched now.
        """
        self._token = self._caller.auth.token(self._silence)
        status = self._status()
        if not status.leader:
            raise Unavailable("no leader", operation=WATCH.name, endpoint=self._endpoint)
        return progress_is_ordered(status.version)

    def create(self, create: Create) -> None:
        """Have a watch created on it."""
        key, end = create.target.range
        request = {
            "key": key,
            "range_end": end,
            "start_revision": create.start_revision,
            "watch_id": create.watch_id,
            "fragment": True,
        }
        self._requests.put(WATCH.request(create_request=request))

    def drop(self, watch_id: int) -> None:
        """Have a watch cancelled on it."""
        self._requests.put(WATCH.request(cancel_request={"watch_id": watch_id}))

    def frames(self) -> Iterator[Frame]:
        """The member's responses, until the stream breaks.

        Raises:
            StoreError: It broke, or fell silent.
        """
        self._heard = self._opened = self._clock.now()
        try:
            call = self._caller.channels.stream(self._endpoint, WATCH)(self._sending(), metadata=metadata(self._token))
            with self._lock:
                self._call, ended = call, self._ended
            if ended:
                call.cancel()
            for response in call:
                self._delivering = True
                yield self._read(response)
                self._heard = self._clock.now()
                self._delivering = False
        except (grpc.RpcError, ValueError) as error:
            raise self._failure(error) from error
        raise Unavailable("the stream ended", operation=WATCH.name, endpoint=self._endpoint)

    def end(self) -> None:
        """End it, from any thread."""
        with self._lock:
            self._ended, call = True, self._call
        self._requests.put(None)
        if call is not None:
            call.cancel()

    def refusal(self, reason: str) -> StoreError:
        """The error for a watch that etcd cancelled."""
        words = reason.lower()
        kind: type[StoreError] = Unavailable
        if "permission denied" in words or "auth" in words or "user name is empty" in words:
            # etcd says `permission denied` of an outdated token too: only with a fresh one it is the user's lack.
            denied = self._renewed or not self._caller.auth.refuse(self._token)
            kind = PermissionDenied if denied else Unauthenticated
        return kind(f"watch refused: {reason or 'no reason given'}", operation=WATCH.name, endpoint=self._endpoint)

    def blame(self) -> None:
        """Have the member avoided for a while."""
        now = self._clock.now()
        picker = self._caller.picker
        picker.done(self._endpoint, picker.sent(self._endpoint, now), now, well=False)

    def _sending(self) -> Iterator[Any]:
        while True:
            try:
                request = self._requests.get(timeout=self._heartbeat)
            except queue.Empty:
                request = _PROGRESS
                self._look_out()
            if request is None or self._ended:
                return
            yield request

    def _look_out(self) -> None:
        """End the stream if it is to stop or has been silent for too long."""
        if self._stopping():
            self.end()
            return
        now = self._clock.now()
        if self._delivering or now - self._heard <= self._silence:
            return
        unproven = self._created and not self.fruitful and now - self._opened <= self._silence * _UNPROVEN
        if unproven and self._answers():  # some versions leave the progress of a young stream unanswered
            self._heard = now
            return
        self._reason = f"silent for {now - self._heard:.1f} s"
        self.end()

    def _answers(self) -> bool:
        try:
            self._status()
        except StoreError:
            return False
        return True

    def _status(self) -> model.MemberStatus:
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        sending = self._caller.send(status_request(self._endpoint, self._silence), answers.put)
        while True:
            try:
                answer = answers.get(timeout=_STOP_POLL)
            except queue.Empty:
                if self._stopping():
                    sending.cancel()
                continue
            if isinstance(answer, StoreError):
                raise answer
            return model.member_status(self._endpoint, answer)

    def _read(self, response: Any) -> Frame:
        header = response.header
        events = tuple(map(model.watch_event, response.events))
        newest = events[-1].mod_revision if events else 0
        self._caller.witness.recognize(header.cluster_id, seen=newest, endpoint=self._endpoint)
        if response.created:
            self._created = True
        else:
            self.fruitful = True
        return Frame(
            watch_id=response.watch_id,
            revision=header.revision,
            created=response.created,
            canceled=response.canceled,
            compact_revision=response.compact_revision,
            cancel_reason=response.cancel_reason,
            fragment=response.fragment,
            events=events,
        )

    def _failure(self, error: Any) -> StoreError:
        if self._reason:
            return Unavailable(f"{self._endpoint} was {self._reason}", operation=WATCH.name, endpoint=self._endpoint)
        if isinstance(error, ValueError):
            return Unavailable("the connection is closed", operation=WATCH.name, endpoint=self._endpoint)
        failure = classify(
            error.code().name, error.details() or "", write=False, operation=WATCH.name, endpoint=self._endpoint
        )
        if isinstance(failure, Unauthenticated):
            self._caller.auth.refuse(self._token)
        return failure
