"""The lock service as a whole: set up, then run until it is asked to stop."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from component import logs
from component.clock import SystemClock
from component.endpoints import Endpoints
from component.health import Check
from component.lifecycle import Group
from lockd.daemon.admission import Admission
from lockd.daemon.backend import Backend
from lockd.daemon.decoding import Decoding
from lockd.daemon.listening import Address, bind
from lockd.daemon.service import SERVICE, LockService
from lockd.errors import HistoryLost, PermissionDenied, StoreError
from lockd.etcd.witness import Witness
from lockd.flags import refuse_kubernetes
from lockd.v1.lock_pb2_grpc import add_LockServiceServicer_to_server

if TYPE_CHECKING:
    from component.clock import Clock
    from component.metrics import Metrics
    from lockd.daemon.config import ServeConfig

RESERVE: Final = 64
"""Threads for short calls, above those for streams."""

QUEUE: Final = 2048
"""Short calls, and streams that are about to be refused, that may wait for a thread."""

LOOK: Final = 2.0
"""Seconds between two looks at etcd."""

PAUSE: Final = 1.0
"""Seconds between two attempts to reach etcd at the start."""

FAREWELL: Final = 2.0
"""Seconds that calls may take to end, after every stream was told to."""

OPTIONS: Final = (
    ("grpc.so_reuseport", 0),  # a second lockd on the same port is an error, not half of the calls
    # A client that is gone without a word is noticed within 15 s, even one that only observes.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 0),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),
    ("grpc.max_receive_message_length", 64 * 1024),  # the largest that makes sense has some 1 kB
    ("grpc.max_metadata_size", 16 * 1024),
)

_log = logs.get("lockd.serve")


class Daemon:
    """Everything in one process. `start`, then `wait`, then `stop`; tests run it in their own process.

    Attributes:
        addresses: Where it listens, once it does.
    """

    def __init__(self, config: ServeConfig, *, metrics: Metrics | None = None, clock: Clock | None = None) -> None:
        """Make it; nothing runs yet.

        Raises:
            ConfigError: A file can't be used.
        """
        self.config = config
        self.clock = clock or SystemClock()
        self.addresses: tuple[str, ...] = ()
        self.http_port = 0
        self._asked = threading.Event()
        self._group = Group("lockd", clock=self.clock)
        self._credentials = config.security.credentials()
        self.backend = Backend(config.connection, config.prefix, witness=Witness(), group=self._group, clock=self.clock)
        self.admission = Admission(config.max_streams, config.max_streams_per_peer)
        self._health = health.HealthServicer(experimental_non_blocking=False)
        self._pool = ThreadPoolExecutor(config.max_streams + RESERVE, thread_name_prefix="lockd/call")
        self._server = grpc.server(
            self._pool,
            interceptors=[self.admission, Decoding()],
            options=OPTIONS,
            maximum_concurrent_rpcs=config.max_streams + RESERVE + QUEUE,
        )
        add: Any = add_LockServiceServicer_to_server  # generated without types
        add(LockService(self.backend), self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (SERVICE, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server)
        self._endpoints: Endpoints | None = None
        if config.http:
            where = Address(config.http)
            self._endpoints = Endpoints(
                where.host,
                int(where.port),
                group=self._group,
                checks=(
                    Check("etcd", lambda: self.backend.trouble, ("readyz",)),
                    Check("shutdown", lambda: "stopping" if self._asked.is_set() else None, ("readyz",)),
                ),
                metrics=metrics.render if metrics is not None else None,
                clock=self.clock,
            )

    def request_stop(self) -> None:
        """Ask for the end; doesn't wait."""
        self._asked.set()

    def start(self) -> bool:
        """Wait for etcd, then serve; False when asked to stop before.

        Raises:
            CannotListen: As when a port is in use.
            ConfigError: A socket's path can't be used.
            Usage: The prefix holds Kubernetes' data.
            PermissionDenied: etcd takes neither certificate nor user.
            HistoryLost: etcd was replaced while it was waited for.
        """
        if self._endpoints is not None:
            self.http_port = self._endpoints.start()
        if not self._reach_etcd():
            return False
        self.addresses = tuple(bind(self._server, address, self._credentials) for address in self.config.listen)
        self._server.start()
        self._tell_health()
        self._group.spawn("look at etcd", self._look)
        _log.info("serving", addresses=",".join(self.addresses), prefix=self.config.prefix)
        return True

    def wait(self) -> int:
        """Until asked to stop (0), or it can't go on (1)."""
        while not self._asked.is_set():
            if self.backend.failed.is_set() or self._group.stop.is_set():
                return 1
            self.clock.wait(self._asked, 0.2)
        return 0

    def stop(self, seconds: float = FAREWELL) -> tuple[str, ...]:
        """Serve nobody any more; no term is released by that. The names of threads that did not end.

        Clients are told to go on elsewhere: those that wait enter there, those that lead take their term up.
        """
        self._asked.set()
        self._health.enter_graceful_shutdown()
        stopped = self._server.stop(seconds)  # takes no new calls
        self.backend.leave()
        self.clock.wait(stopped, seconds + 1.0)
        if self._endpoints is not None:
            self._endpoints.close()
        self._group.request_stop()
        self.backend.close()
        self._pool.shutdown(wait=False, cancel_futures=True)
        left = self._group.join(1.0)
        for address in self.config.listen:
            if address.path is not None and address.text in self.addresses:
                address.path.unlink(missing_ok=True)
        _log.info("served", threads_left=",".join(left))
        return left

    def _reach_etcd(self) -> bool:
        told = False
        while not self._asked.is_set():
            try:
                refuse_kubernetes(
                    self.backend.calls, self.config.prefix, timeout=self.config.connection.command_timeout
                )
            except PermissionDenied:
                raise
            except StoreError as error:
                self.backend.trouble = str(error)
                if not told:
                    _log.warning("etcd does not answer: waiting for it", error=str(error))
                told = True
                self.clock.wait(self._asked, PAUSE)
            else:
                self.backend.trouble = None
                return True
        return False

    def _look(self) -> None:
        """Tell by gRPC's health service, and by /readyz, whether etcd answers."""
        key = f"{self.config.prefix}/leases/"
        while not self._group.stop.is_set():
            self.clock.wait(self._group.stop, LOOK)
            try:
                self.backend.calls.range(key, timeout=LOOK)
                self.backend.trouble = None
            except HistoryLost as error:
                _log.error("etcd is not the one it was", error=str(error))
                self.backend.lose_history()
                return
            except StoreError as error:
                self.backend.trouble = str(error)
            self._tell_health()

    def _tell_health(self) -> None:
        states = health_pb2.HealthCheckResponse
        state = states.SERVING if self.backend.trouble is None else states.NOT_SERVING
        for name in ("", SERVICE):
            self._health.set(name, state)
