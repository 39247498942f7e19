"""A leader that doesn't schedule: it makes the binder's and the event sink's transactions out of values made before."""

from __future__ import annotations

import queue
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chaos.bench.creator import Created
from chaos.bench.objects import CREATED, TIMEOUT, pod_puts
from chaos.errors import Interrupted, NotStarted
from lockd.errors import Fenced, StoreError
from lockd.fencing import GuardedWrite, ObjectWrite
from lockd.ports import KeyValue
from replica.api.codec import bound, decode_pod
from replica.binder import IN_FLIGHT
from replica.binding import MOST_PODS
from replica.events.recorder import Recorder
from replica.events.sink import BATCH as MOST_EVENTS
from replica.events.term import TermEvents

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from chaos.bench.creator import Creator
    from component.clock import Clock
    from lockd.etcd.gateway import Gateway
    from lockd.fencing import Guard
    from lockd.ports import Put, TxnReply

STEP: Final = 0.1
"""Seconds between two looks at whether to stop."""

EVENT_SECONDS: Final = 3600


@dataclass(frozen=True, slots=True)
class _Answer:
    """What came of a transaction of so many binds, or of so many events."""

    write: GuardedWrite
    binds: int
    events: int
    reply: TxnReply | StoreError


class Writer:
    """Binds what a creator creates, as fast as etcd takes it.

    Args:
        pods: How many there will be.

    Raises:
        StoreError: The lease for the events could not be had.
    """

    def __init__(self, gateway: Gateway, guard: Guard, prefix: str, pods: int, *, clock: Clock) -> None:
        self._gateway = gateway
        self._guard = guard
        self._clock = clock
        self._pods = pods
        self._inbox: queue.SimpleQueue[Created | _Answer | NotStarted] = queue.SimpleQueue()
        self._created: deque[tuple[int, int]] = deque()
        self._first = float("inf")
        self._binding = 0
        self._bound = 0
        self._telling = False
        self._told = 0
        puts = pod_puts(prefix, 0, pods)
        self._values = [
            (put.key, bound(put.value, f"node-{number % 1000}", guard.token, at=CREATED))
            for number, put in enumerate(puts)
        ]
        self._events = self._made_events([KeyValue(put.key, put.value, 1) for put in puts], prefix)

    def follow(self, creator: Creator) -> None:
        """Take in what is created, until all is; on a thread of its own."""
        try:
            for one in creator.created():
                self._inbox.put(one)
        except NotStarted as error:
            self._inbox.put(error)

    def run(self, progress: Callable[[int], None], stop: threading.Event) -> float:
        """Bind it all; seconds from the first pod's creation to the last one's bind.

        Raises:
            NotStarted: The creator ended early.
            Fenced: Somebody took the lease.
            StoreError: etcd did not take a transaction.
            Interrupted: `stop` was set.
        """
        ended = 0.0
        while self._bound < self._pods or self._told < self._pods:
            try:
                item = self._inbox.get(timeout=STEP)
            except queue.Empty:
                if stop.is_set():
                    raise Interrupted("stopped by a signal; the cluster is taken down") from None
                continue
            self._take(item)
            if self._bound == self._pods and not ended:
                ended = self._clock.wall()
            progress(self._bound)
            self._send_what_may_be()
        return ended - self._first

    def _take(self, item: Created | _Answer | NotStarted) -> None:
        match item:
            case Created(first=first, count=count, revision=revision, sent=sent):
                self._first = min(self._first, sent)
                self._created.extend((number, revision) for number in range(first, first + count))
            case _Answer():
                self._judge(item)
            case _:
                raise item

    def _judge(self, answer: _Answer) -> None:
        if isinstance(answer.reply, StoreError):
            raise answer.reply
        judged = answer.write.judge(answer.reply)
        if judged.fenced or not all(result.applied for result in judged.results):
            raise Fenced("a write of the benchmark was refused: another writer is at its keys", token=self._guard.token)
        if answer.binds:
            self._binding -= 1
            self._bound += answer.binds
        else:
            self._telling = False
            self._told += answer.events

    def _send_what_may_be(self) -> None:
        while self._created and self._binding < IN_FLIGHT:
            taken = [self._created.popleft() for _ in range(min(MOST_PODS, len(self._created)))]
            self._binding += 1
            self._send([ObjectWrite(*self._bind(number, revision)) for number, revision in taken], binds=len(taken))
        if not self._telling and self._bound > self._told:
            self._telling = True
            first, *others = self._events[self._told : min(self._bound, self._told + MOST_EVENTS)]
            self._send([ObjectWrite(first.key, 0, first.value, first.lease, tuple(others))], events=1 + len(others))

    def _bind(self, number: int, revision: int) -> tuple[str, int, bytes]:
        key, value = self._values[number]
        return key, revision, value

    def _send(self, writes: Sequence[ObjectWrite], *, binds: int = 0, events: int = 0) -> None:
        write = GuardedWrite.of(self._guard, writes)
        self._gateway.send(
            write.txn(), lambda reply: self._inbox.put(_Answer(write, binds, events, reply)), timeout=TIMEOUT
        )

    def _made_events(self, pods: Sequence[KeyValue], prefix: str) -> list[Put]:
        recorder = Recorder(lambda _: None, controller="default-scheduler", instance="bench", clock=self._clock)
        events = TermEvents(prefix, self._guard.token)
        lease = self._gateway.lease_grant(EVENT_SECONDS, timeout=TIMEOUT)

        def made(kv: KeyValue) -> Put:
            pod = decode_pod(kv)
            note = f"Successfully assigned {pod.path} to node-0"
            return events.put(recorder.make(pod, reason="Scheduled", note=note, action="Binding"), lease)

        return [made(kv) for kv in pods]
