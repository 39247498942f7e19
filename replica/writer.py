"""A term's writes that aren't binds: guarded, settled one after the other, never after the term is over."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from component import logs
from lockd.errors import Fenced
from lockd.fencing import GuardedWrite
from replica.write_metrics import WriteMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from component.clock import Clock
    from lockd.fencing import Guard, GuardedReply, ObjectWrite
    from lockd.ports import Txn, TxnReply

_log = logs.get(__name__)


class Term(Protocol):
    """What the writer needs of a leadership: `lockd.leadership.Leadership`."""

    @property
    def guard(self) -> Guard: ...

    @property
    def lost(self) -> threading.Event: ...

    def holds(self, now: float) -> bool: ...

    def fenced(self) -> None: ...


class TermWriter:
    """Writes under one term's guard. Thread-safe: one transaction at a time, so none of its objects has two unsettled.

    Args:
        settle: Sends identical copies until one is answered, or the event is set; raises StoreError
            (`lockd.etcd.retry.settle` with a gateway and its bounds).
    """

    def __init__(self, term: Term, settle: Callable[[Txn, threading.Event], TxnReply], *, clock: Clock) -> None:
        self._term = term
        self._settle = settle
        self._clock = clock
        self._turn = threading.Lock()
        self._metrics = WriteMetrics()

    def write(self, writes: Sequence[ObjectWrite]) -> GuardedReply:
        """Make these writes, each standing or falling alone.

        Raises:
            Fenced: The term is over: nothing was sent, or etcd refused all of it.
            StoreError: It is not settled (Unavailable: certainly not written), or can't be written at all.
        """
        return self.write_groups([(write,) for write in writes])

    def write_groups(self, groups: Sequence[tuple[ObjectWrite, ...]]) -> GuardedReply:
        """The same for groups, each of which stands or falls as a whole.

        Raises:
            Fenced: As above.
            StoreError: As above.
        """
        guarded = GuardedWrite(self._term.guard, tuple(groups))
        with self._turn:
            if not self._term.holds(self._clock.now()):
                raise Fenced("the term is over: nothing is written", token=self._term.guard.token)
            reply = guarded.judge(self._settle(guarded.txn(), self._term.lost))
        if reply.fenced:
            self._metrics.rejected()
            _log.error(
                "write refused: the term is over", token=int(self._term.guard.token), objects=sum(map(len, groups))
            )
            self._term.fenced()
            raise Fenced("a newer term began: the write was refused", token=self._term.guard.token)
        return reply
