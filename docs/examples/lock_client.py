"""Hold a lock of `lockd serve` while something is done: a client as small as the rules allow.

    python docs/examples/lock_client.py nightly-report unix:/run/lockd.sock

It waits for the lock, says so with its fencing token, works a step at a time while it is entitled to, and gives the
lock back on Ctrl-C. Name several lockds and it goes from one to the next when a stream breaks.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from typing import TYPE_CHECKING, Self

import grpc

from lockd.v1 import lock_pb2 as pb
from lockd.v1.lock_pb2_grpc import LockServiceStub

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

GIVEN_UP = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.ABORTED)
"""What is the same at every lockd: the request can't be right, or the term is over."""


def now() -> float:
    """Seconds on a clock that never goes back, and counts suspend."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class HeldLock:
    """A lock, held from `with` to its end. `entitled` says whether to act: ask it before each act, at every step.

    Args:
        targets: lockds, such as `unix:/run/lockd.sock` or `127.0.0.1:7600`.
    """

    def __init__(self, targets: Sequence[str], name: str, *, identity: str = "") -> None:
        self._targets = itertools.cycle(targets)
        self._lock = pb.Lock(name=name)
        self._identity = identity
        self._until = 0.0
        self._leading: pb.Leading | None = None
        self._led = threading.Event()
        self._over = threading.Event()
        self._release = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lock", daemon=True)

    @property
    def token(self) -> int:
        """The fencing token: it goes with whatever is done, so that others can refuse an older one."""
        return self._leading.fencing_token if self._leading is not None else 0

    def entitled(self) -> bool:
        """May it act now? From when the newest answered keep-alive was *sent*, for the renew deadline and no longer."""
        return now() < self._until and not self._release.is_set()

    def __enter__(self) -> Self:
        """Wait for the lock."""
        self._thread.start()
        while not self._led.wait(1.0):
            if self._over.is_set():
                raise RuntimeError("the lock can't be had")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back; what was done under it has ended by now."""
        self._release.set()
        self._thread.join(10.0)

    def _run(self) -> None:
        """One stream after another, until the lock is given back or lost."""
        while not self._over.is_set():
            try:
                with grpc.insecure_channel(next(self._targets)) as channel:
                    _Stream(self).follow(LockServiceStub(channel))
            except grpc.RpcError as broken:
                lost = self._leading is not None and now() >= self._until
                if lost or broken.code() in GIVEN_UP:
                    self._over.set()
                self._over.wait(0.2)
            else:
                self._over.set()


class _Stream:
    """One stream: sends keep-alives with numbers, remembers when, and takes in what is answered."""

    def __init__(self, lock: HeldLock) -> None:
        self._lock = lock
        self._sent: dict[int, float] = {}
        self._period = 2.0
        self._deadline = 10.0

    def follow(self, stub: LockServiceStub) -> None:
        for answer in stub.Campaign(self._requests()):
            match answer.WhichOneof("kind"):
                case "leading":
                    leading = self._lock._leading = answer.leading
                    self._period = leading.retry_period.ToTimedelta().total_seconds()
                    self._deadline = leading.renew_deadline.ToTimedelta().total_seconds()
                    self._answered(leading.sequence)
                    self._lock._led.set()
                case "kept_alive":
                    self._answered(answer.kept_alive.sequence)
                case "draining":
                    self._lock._release.set()

    def _requests(self) -> Iterator[pb.CampaignRequest]:
        """Its end is the half-close that gives the lock back."""
        for number in itertools.count():
            self._sent[number] = now()  # before it goes out
            if number:
                yield pb.CampaignRequest(keep_alive=pb.KeepAlive(sequence=number))
            elif self._lock._leading is None:
                yield pb.CampaignRequest(enter=pb.Enter(lock=self._lock._lock, identity=self._lock._identity))
            else:
                mine = self._lock._leading
                yield pb.CampaignRequest(
                    resume=pb.Resume(
                        lock=self._lock._lock, fencing_token=mine.fencing_token, acquisition=mine.acquisition
                    )
                )
            if self._lock._release.wait(self._period / 2):
                return

    def _answered(self, number: int) -> None:
        self._lock._until = max(self._lock._until, self._sent[number] + self._deadline)


def main(name: str, *targets: str) -> None:
    """Hold the lock `name` and say so, until Ctrl-C."""
    with HeldLock(targets or ("unix:/run/lockd.sock",), name) as lock:
        step = threading.Event()
        try:
            print(f"holds {name} with fencing token {lock.token}")
            while lock.entitled():
                step.wait(1.0)  # one step of the work, with lock.token sent along
            print("lost the lock")
        except KeyboardInterrupt:
            print("gives it back")


if __name__ == "__main__":
    main(*sys.argv[1:])
