"""A sender in front of the etcd in memory that loses, delays and refuses, as a test says."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lockd.errors import OutcomeUnknown, StoreError, TooLarge
from lockd.ports import Put, Txn

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockd.ports import TxnReply
    from tests.harness.fake_etcd import FakeEtcd

    Done = Callable[[TxnReply | StoreError], None]


@dataclass
class Sent:
    """One copy of a transaction on its way."""

    txn: Txn
    copy: int
    done: Done
    cancelled: bool = False
    replies: list[TxnReply | StoreError] = field(default_factory=list)

    def cancel(self) -> None:
        self.cancelled = True

    def answer(self, reply: TxnReply | StoreError) -> None:
        self.replies.append(reply)
        self.done(reply)


class FlakySender:
    """Sends to an etcd in memory.

    Attributes:
        plan: What happens to the next copies, one word each: `ok` (the default when it is empty), `lost` (committed,
            the reply lost: OutcomeUnknown), `held` (neither sent on nor answered before `commit` or `answer`),
            `silent` (committed, never answered) or an error to answer with.
        sent: All copies so far.
        largest: Bytes of values above which a transaction is TooLarge.
    """

    def __init__(self, etcd: FakeEtcd) -> None:
        self.etcd = etcd
        self.plan: deque[str | StoreError] = deque()
        self.sent: list[Sent] = []
        self.largest: int | None = None

    def send(self, txn: Txn, done: Done, *, copy: int = 0, timeout: float) -> Sent:
        sent = Sent(txn, copy, done)
        self.sent.append(sent)
        if self.largest is not None and values_of(txn) > self.largest:
            sent.answer(TooLarge("request is too large", code="INVALID_ARGUMENT"))
            return sent
        step = self.plan.popleft() if self.plan else "ok"
        match step:
            case "ok":
                self.commit(sent)
            case "lost":
                self.etcd.txn(txn, timeout=1)
                sent.answer(OutcomeUnknown("the reply was lost", code="DEADLINE_EXCEEDED"))
            case "silent":
                self.etcd.txn(txn, timeout=1)
            case "held":
                pass
            case StoreError():
                sent.answer(step)
            case _:
                raise ValueError(step)
        return sent

    def commit(self, sent: Sent) -> None:
        """Let a copy reach etcd, and answer it."""
        try:
            sent.answer(self.etcd.txn(sent.txn, timeout=1))
        except StoreError as error:
            sent.answer(error)


def values_of(txn: Txn) -> int:
    """Bytes of all values that a transaction may put."""
    return sum(values_of(op) if isinstance(op, Txn) else len(op.value) if isinstance(op, Put) else 0 for op in txn.then)
