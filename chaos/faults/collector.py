"""A fault of the telemetry collector: it takes connections and never answers, so that whoever exits waits for it."""

from __future__ import annotations

import contextlib
import errno
import selectors
import socket
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import urlsplit

from chaos.faults.clocks import environment
from chaos.faults.effect import Effect, Moment, shown, undone
from chaos.faults.errors import NotAvailable
from chaos.faults.fault import Kind, Need
from chaos.faults.undo import Undo
from chaos.proxy.origin import origin
from component.lifecycle import Group
from lockd.etcd.loopback import free_ports

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.cluster.interface import Target
    from chaos.faults.fault import Applied, Scene

VARIABLE: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
STEP: Final = 0.1
ENDING: Final = 5.0


@dataclass(frozen=True, slots=True)
class HangCollector:
    """Lets the telemetry collector of replicas take connections and answer nothing, until healed."""

    name: ClassVar[str] = "hang-collector"
    aims: ClassVar[frozenset[Kind]] = frozenset({Kind.REPLICA})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.COLLECTOR})

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:
        address = _address(targets)
        moment = Moment.now(scene.clock)
        hung = _Hung(address, targets)

        def heal() -> str:
            hung.end()
            return undone(scene, hung.refused, f"somebody still listens at {hung.name}")

        with Undo() as undo:
            undo.add(heal)
            proof = shown(scene, hung.heard, f"not all of them spoke to the collector at {hung.name}")
        return Effect(moment, proof, undo)


def equipped(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """The variables that replicas must be started with, by name: a collector's address where nobody listens yet."""
    variables = {
        VARIABLE: f"http://127.0.0.1:{free_ports(1)[0]}",
        "OTEL_METRIC_EXPORT_INTERVAL": "1000",  # so that each soon speaks to a collector, whatever else it does
    }
    return {name: dict(variables) for name in names}


class _Hung:
    """Listens, reads, and never answers, in a thread of its own."""

    def __init__(self, address: tuple[str, int], targets: Sequence[Target]) -> None:
        """Listen.

        Raises:
            NotAvailable: Somebody else does.
        """
        self.name = f"{address[0]}:{address[1]}"
        self._address = address
        self._pids = {target.name: target.pid for target in targets}
        self._lock = threading.Lock()
        self._heard: dict[str, int] = {}
        self._group = Group("chaos")
        try:
            self._listener = socket.create_server(address)
        except OSError as error:
            raise NotAvailable(f"{self.name}: {error.strerror}: a real collector can't be made to hang") from error
        self._listener.setblocking(False)
        self._group.spawn("collector", self._run)

    def heard(self) -> str | None:
        """That each target has said something here; None: not all have."""
        with self._lock:
            heard = dict(self._heard)
        if not all(heard.get(name) for name in self._pids):
            return None
        told = ", ".join(f"{name} said {heard[name]} bytes" for name in self._pids)
        return f"{told} to the collector at {self.name}, and heard nothing"

    def refused(self) -> str | None:
        """That nobody listens any more."""
        with socket.socket() as dialled:
            if dialled.connect_ex(self._address) == errno.ECONNREFUSED:
                return f"nobody listens at {self.name}"
        return None

    def end(self) -> None:
        """Close all connections, and listen no longer. Idempotent."""
        self._group.request_stop()
        self._group.join(ENDING)
        self._listener.close()

    def _run(self) -> None:
        with contextlib.ExitStack() as opened, selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            while not self._group.stop.is_set():
                for key, _ in selector.select(STEP):
                    if key.fileobj is self._listener:
                        with contextlib.suppress(OSError):
                            taken, dialler = self._listener.accept()
                            name = origin(self._pids, dialler, self._address)
                            selector.register(opened.enter_context(taken), selectors.EVENT_READ, name)
                    else:
                        self._read(selector, key)

    def _read(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        said = b""
        if isinstance(key.fileobj, socket.socket):
            with contextlib.suppress(OSError):
                said = key.fileobj.recv(65536)
        if not said:
            selector.unregister(key.fileobj)
            return
        with self._lock:
            self._heard[key.data] = self._heard.get(key.data, 0) + len(said)


def _address(targets: Sequence[Target]) -> tuple[str, int]:
    """Where the targets send their telemetry.

    Raises:
        NotAvailable: Nowhere, or not all to one place on this host.
    """
    found = {target.name: environment(target).get(VARIABLE, "") for target in targets}
    for name, url in found.items():
        if urlsplit(url).hostname != "127.0.0.1":
            raise NotAvailable(f"{name} sends no telemetry to this host: make a cluster with `chaosctl up --collector`")
    if len(set(found.values())) != 1:
        raise NotAvailable(f"{', '.join(found)} do not send their telemetry to one collector")
    parts = urlsplit(next(iter(found.values())))
    return str(parts.hostname), parts.port or 4317
