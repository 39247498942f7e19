"""Who holds a lock, as it changes: a stream that can be resumed by the revision that it has come to."""

from __future__ import annotations

import queue
from typing import TYPE_CHECKING

import grpc

from component.clock import LONGEST_WAIT
from lockd.daemon.refusals import GOING_DOWN, Refusal
from lockd.daemon.terms import Standing
from lockd.ports import KeyEvent, Which
from lockd.record import parse_history
from lockd.v1 import lock_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lockd.daemon.backend import Backend
    from lockd.ports import LockName, Seen, View


class Observing:
    """One stream."""

    def __init__(self, backend: Backend, lock: LockName, after: int, context: grpc.ServicerContext) -> None:
        self._backend = backend
        self._lock = lock
        self._after = after
        self._context = context
        self._inbox: queue.SimpleQueue[Seen | None] = queue.SimpleQueue()
        self._farewell: Refusal | None = None

    def leave(self) -> None:
        """lockd is going down."""
        self._farewell = Refusal(grpc.StatusCode.UNAVAILABLE, GOING_DOWN)
        self._inbox.put(None)

    def broken(self) -> None:
        """The call is over, whoever ended it."""
        self._inbox.put(None)

    def answers(self) -> Iterator[pb.ObserveResponse]:
        """How it stands, then each change.

        Raises:
            Refusal: The status that the stream ends with.
            StoreError: etcd didn't answer the first read.
        """
        if self._after < 0:
            raise Refusal(grpc.StatusCode.INVALID_ARGUMENT, f"after_revision must be 0 or above, not {self._after}")
        feed = self._backend.hub.feed.subscribe(self._lock, self._take)
        try:
            view = self._backend.terms.whole(self._lock, within=self._backend.timeout)
            if self._after > view.revision:
                text = (
                    f"after_revision {self._after} is above etcd's {view.revision}: it is of an etcd that was replaced"
                )
                raise Refusal(grpc.StatusCode.OUT_OF_RANGE, text)
            told = self._after
            for answer in (*self._missed(view), _answer(view.term, view.revision)):
                if answer.revision > told or (not told and not answer.revision):
                    told = answer.revision
                    yield answer
            yield from self._changes(told)
        finally:
            feed.cancel()

    def _changes(self, told: int) -> Iterator[pb.ObserveResponse]:
        while self._context.is_active():
            try:
                seen = self._inbox.get(timeout=LONGEST_WAIT)
            except queue.Empty:
                continue
            if self._farewell is not None:
                raise self._farewell
            if seen is not None and seen.revision > told:
                told = seen.revision
                yield _answer(seen, seen.revision)

    def _missed(self, view: View) -> Iterator[pb.ObserveResponse]:
        """The terms that began after the revision asked for and before the one in force."""
        if not self._after or view.history is None:
            return
        for entry in parse_history(view.history.value, view.history.mod_revision):
            if self._after < entry.token < view.term.mod_revision:
                yield pb.ObserveResponse(
                    holder_identity=entry.identity, fencing_token=entry.token, revision=entry.token
                )

    def _take(self, event: KeyEvent) -> None:
        if event.which is Which.TERM:
            self._inbox.put(event.seen)


def _answer(term: Seen, revision: int) -> pb.ObserveResponse:
    standing = Standing.of(term, revision)
    return pb.ObserveResponse(
        holder_identity=standing.holder, fencing_token=standing.token, revision=standing.changed or revision
    )
