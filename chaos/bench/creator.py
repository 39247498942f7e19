"""Who creates a benchmark's pods: a process of its own, as users are, that tells when etcd took each transaction."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import msgspec

from chaos.bench.objects import PLAIN, TIMEOUT, chunks, pod_puts
from chaos.cluster.plan import environment
from chaos.errors import NotStarted
from component.clock import SystemClock
from lockd.etcd.connection import Connection
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness
from lockd.ports import Txn, TxnReply

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockd.errors import StoreError

IN_FLIGHT: Final = 2
"""Transactions on their way at once: as much as etcd needs to be busy."""

READY: Final = b"ready\n"
GO: Final = b"go\n"


class Created(msgspec.Struct, frozen=True):
    """A transaction of created pods.

    Attributes:
        first: The number of its first pod.
        count: How many it created.
        revision: etcd's, and so each pod's mod revision.
        sent: Wall seconds.
        acked: Wall seconds.
    """

    first: int
    count: int
    revision: int
    sent: float
    acked: float


@dataclass(slots=True)
class Creator:
    """A creating process. It ends with its pipe, so with us."""

    process: subprocess.Popen[bytes]
    pods: int

    @classmethod
    def start(cls, endpoints: Sequence[str], prefix: str, pods: int, shape: str = PLAIN) -> Self:
        """Start one, which makes everything ready and waits for `go`.

        Args:
            shape: A name of `objects.SHAPES`.
        """
        command = [sys.executable, "-m", "chaos.bench.creator", ",".join(endpoints), prefix, str(pods), shape]
        pipe = subprocess.PIPE
        process = subprocess.Popen(  # noqa: S603 - our own program
            command,
            stdin=pipe,
            stdout=pipe,
            env=environment(),
            start_new_session=True,  # a terminal's Ctrl-C is for us: we end it in good order
        )
        return cls(process, pods)

    def until_ready(self) -> None:
        """Wait until it has made all values.

        Raises:
            NotStarted: It ended; what it said is on our stderr.
        """
        if self._line() != READY:
            raise self._failed()

    def go(self) -> None:
        """Begin."""
        assert self.process.stdin is not None  # noqa: S101 - for the type checker
        self.process.stdin.write(GO)
        self.process.stdin.flush()

    def created(self) -> Iterator[Created]:
        """What it creates, as etcd takes it, until all is there.

        Raises:
            NotStarted: It ended before that.
        """
        left = self.pods
        while left:
            line = self._line()
            if not line:
                raise self._failed()
            one = msgspec.json.decode(line, type=Created)
            left -= one.count
            yield one

    def gather(self) -> Gathered:
        """Take in all that it creates, on a thread: who reads a pipe can't be interrupted."""
        gathered = Gathered(self)
        threading.Thread(target=gathered.run, name="bench/creator", daemon=True).start()
        return gathered

    def end(self) -> None:
        """Have it gone."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def _line(self) -> bytes:
        assert self.process.stdout is not None  # noqa: S101 - for the type checker
        return self.process.stdout.readline()

    def _failed(self) -> NotStarted:
        return NotStarted(("the process that creates pods ended: what it said is above",), 1)


class Gathered:
    """What a creator has created so far."""

    def __init__(self, creator: Creator) -> None:
        self._creator = creator
        self._created: list[Created] = []
        self._failure: NotStarted | None = None
        self._ended = threading.Event()

    def run(self) -> None:
        """Take it in until the end."""
        try:
            for one in self._creator.created():
                self._created.append(one)
        except NotStarted as error:
            self._failure = error
        finally:
            self._ended.set()

    @property
    def ended(self) -> bool:
        """Is all there?

        Raises:
            NotStarted: It never will be.
        """
        if self._failure is not None:
            raise self._failure
        return self._ended.is_set()

    def span(self) -> tuple[float, float]:
        """Wall seconds of the first transaction's sending and of the last one's reply."""
        return min(one.sent for one in self._created), max(one.acked for one in self._created)


def run(endpoints: tuple[str, ...], prefix: str, pods: int, shape: str = PLAIN) -> None:
    """Create pods as fast as etcd takes them, once told to go on stdin.

    Raises:
        StoreError: etcd did not take them.
    """
    clock, out = SystemClock(), sys.stdout.buffer
    puts = pod_puts(prefix, 0, pods, shape)
    gateway = Gateway(Connection(endpoints=endpoints), purpose="creator", witness=Witness(), clock=clock)
    gateway.range(prefix, timeout=TIMEOUT)  # connects
    replies: queue.SimpleQueue[tuple[int, int, float, TxnReply | StoreError]] = queue.SimpleQueue()

    def send(first: int, count: int) -> None:
        sent = clock.wall()
        txn = Txn((), tuple(puts[first : first + count]))
        gateway.send(txn, lambda reply: replies.put((first, count, sent, reply)), timeout=TIMEOUT)

    out.write(READY)
    out.flush()
    if sys.stdin.buffer.readline() != GO:
        return
    waiting = iter(chunks(pods))
    flying = 0
    for first, count in waiting:
        send(first, count)
        flying += 1
        if flying == IN_FLIGHT:
            break
    while flying:
        first, count, sent, reply = replies.get(timeout=2 * TIMEOUT)
        if not isinstance(reply, TxnReply):
            raise reply
        flying -= 1
        if (following := next(waiting, None)) is not None:
            send(*following)
            flying += 1
        out.write(msgspec.json.encode(Created(first, count, reply.revision, sent, clock.wall())) + b"\n")
        out.flush()
    gateway.close()
    sys.stdin.buffer.readline()  # stay, so that what it used can still be read


if __name__ == "__main__":
    run(tuple(sys.argv[1].split(",")), sys.argv[2], int(sys.argv[3]), sys.argv[4])
