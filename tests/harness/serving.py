"""`lockd serve` in the test's own process, and clients of it that do just what the test says."""

from __future__ import annotations

import queue
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

import grpc
from google.protobuf.duration_pb2 import Duration

from component.clock import SystemClock
from lockd.daemon.config import ServeConfig
from lockd.daemon.listening import Address
from lockd.daemon.server import Daemon
from lockd.v1 import lock_pb2 as pb
from lockd.v1.lock_pb2_grpc import LockServiceStub
from tests.harness.wait import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lockd.etcd.connection import Connection

CLOCK = SystemClock()
LASTING = {"lease_duration": 30.0, "retry_period": 0.4}
QUICK = {"lease_duration": 3.0, "renew_deadline": 2.0, "retry_period": 0.4}
"""For who is to be given up soon."""
NAMESPACE = "kube-system"


def listens(path: Path) -> bool:
    """Does anybody listen on this unix socket? Its file is there a moment earlier."""
    with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
        probe.connect(str(path))
        return True
    return False


@contextmanager
def serving(connection: Connection, prefix: str, *listen: str, **options: Any) -> Iterator[Daemon]:
    """A daemon that serves, by default on a free loopback port, and is stopped in the end."""
    addresses = tuple(map(Address, listen or ("127.0.0.1:0",)))
    daemon = Daemon(ServeConfig(connection=connection, prefix=prefix, listen=addresses, **options))
    try:
        assert daemon.start()
        yield daemon
    finally:
        daemon.stop(1.0)


@contextmanager
def dialled(target: Daemon | str, *, credentials: grpc.ChannelCredentials | None = None) -> Iterator[grpc.Channel]:
    """A connection of its own to a daemon, or to an address."""
    address = target if isinstance(target, str) else target.addresses[0]
    options = [("grpc.use_local_subchannel_pool", 1)]
    if credentials is None:
        channel = grpc.insecure_channel(address, options)
    else:
        channel = grpc.secure_channel(address, credentials, options)
    with channel:
        yield channel


def duration(seconds: float) -> Duration:
    made = Duration()
    made.FromNanoseconds(round(seconds * 1e9))
    return made


def enter(name: str, identity: str = "", **durations: float) -> pb.CampaignRequest:
    """An Enter; by default with a lease that no busy machine lets run out, and keep-alives that are answered soon."""
    fields = {**LASTING, **durations}
    return pb.CampaignRequest(
        enter=pb.Enter(
            lock=pb.Lock(name=name), identity=identity, **{key: duration(value) for key, value in fields.items()}
        )
    )


def resume(name: str, leading: pb.Leading, **fields: Any) -> pb.CampaignRequest:
    """A Resume of the term that `leading` told of."""
    given = {"fencing_token": leading.fencing_token, "acquisition": leading.acquisition, **fields}
    return pb.CampaignRequest(resume=pb.Resume(lock=pb.Lock(name=name), **given))


class Stream:
    """A campaign's stream: sends what it is told to, keeps all that comes. A context manager that breaks it.

    Args:
        beat: Seconds between keep-alives that it sends by itself; None for none.
        after: Begin once this one leads.
    """

    def __init__(
        self,
        channel: grpc.Channel,
        *first: pb.CampaignRequest,
        beat: float | None = 0.3,
        metadata: Any = None,
        after: Stream | None = None,
    ) -> None:
        if after is not None:
            after.wait("leading")
        self.got: list[pb.CampaignResponse] = []
        self.sent: dict[int, float] = {0: CLOCK.now()}
        self.error: grpc.RpcError | None = None
        self.over = threading.Event()
        self._requests: queue.SimpleQueue[pb.CampaignRequest | None] = queue.SimpleQueue()
        self._number = 0
        self._beat = beat
        for request in first:
            self._requests.put(request)
        self._call = LockServiceStub(channel).Campaign(self._sending(), metadata=metadata)
        self._thread = threading.Thread(target=self._read, name="test stream", daemon=True)
        self._thread.start()

    def _sending(self) -> Iterator[pb.CampaignRequest]:
        while True:
            try:
                request = self._requests.get(timeout=self._beat)
            except queue.Empty:
                request = self._next()
            if request is None:
                return
            yield request

    def _next(self) -> pb.CampaignRequest:
        self._number += 1
        self.sent[self._number] = CLOCK.now()
        return pb.CampaignRequest(keep_alive=pb.KeepAlive(sequence=self._number))

    def _read(self) -> None:
        try:
            for answer in self._call:
                self.got.append(answer)
        except grpc.RpcError as error:
            self.error = error
        self.over.set()

    def send(self, request: pb.CampaignRequest) -> None:
        self._requests.put(request)

    def beat(self) -> int:
        """Send a keep-alive; its number."""
        self.send(self._next())
        return self._number

    def half_close(self) -> None:
        self._requests.put(None)

    def cancel(self) -> None:
        """Break it."""
        self._call.cancel()
        self._requests.put(None)
        self.over.wait(5.0)

    def all(self, kind: str) -> list[Any]:
        return [getattr(answer, kind) for answer in tuple(self.got) if answer.WhichOneof("kind") == kind]

    def wait(self, kind: str, within: float = 15.0) -> Any:
        """The newest answer of this kind, once there is one."""
        eventually(lambda: self.all(kind) or self.over.is_set(), within=within, what=f"an answer {kind}")
        found = self.all(kind)
        assert found, f"the stream ended without {kind}: {self.error}; it told {self.got}"
        return found[-1]

    @property
    def leads(self) -> bool:
        return bool(self.all("leading")) and not self.over.is_set()

    def end(self, within: float = 15.0) -> tuple[grpc.StatusCode, str]:
        """The status, once it is there."""
        assert self.over.wait(within), f"the stream has not ended; it told {self.got}"
        return self._call.code(), self._call.details() or ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cancel()
