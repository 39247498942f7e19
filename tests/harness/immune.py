"""A cluster that can't be hurt: whatever is done to it has no effect, and nobody says so."""

from __future__ import annotations

import http.server
import os
import random
import socketserver
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chaos.cluster.interface import Condition, Membership, Target
from chaos.cluster.process import condition
from chaos.cluster.supervisor import MARKER
from chaos.faults import clocks, collector
from chaos.faults.fault import Scene
from chaos.faults.remedies import LocalRemedies
from chaos.proxy.counters import Counters
from chaos.proxy.link import STRANGER, Link
from component.clock import SystemClock
from component.process import Child, Process
from lockd.etcd.channel import COMPACT, TXN
from lockd.etcd.gateway import Gateway
from lockd.etcd.loopback import free_ports
from lockd.etcd.witness import Witness
from lockd.ports import LockName, Put, Txn
from lockd.record import LeaderRecord
from tests.harness.wait import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from chaos.faults.remedies import Remedy
    from chaos.proxy.rule import Rule
    from lockd.etcd.embedded import Embedded

PATIENCE = 0.1


class Fixed:
    """Networks that nobody leaves."""

    def of(self, target: Target) -> tuple[Membership, ...]:
        return (Membership(f"{target.name}-network"),)

    def leave(self, target: Target) -> None:
        pass

    def join(self, target: Target, memberships: Sequence[Membership]) -> None:
        pass


class Remediable(LocalRemedies):
    """As if it had networks."""

    def join(self, target: Target, memberships: Sequence[Membership]) -> Remedy:
        return self.go_on(target)


class Immune:
    """A `Cluster` of processes that take no notice. What ends or stops one here returns as if it had."""

    def __init__(self, etcd: Embedded, replicas: Sequence[Target], links: Immovable) -> None:
        self._etcd = etcd
        self._replicas = tuple(replicas)
        self._links = links

    def replicas(self) -> tuple[Target, ...]:
        return self._replicas

    def etcd_members(self) -> tuple[Target, ...]:
        return tuple(Target(m.name, m.name, m.pid, m.started, m.endpoint) for m in self._etcd.members)

    def daemons(self) -> tuple[Target, ...]:
        return ()

    def leader(self) -> Target | None:
        return self._replicas[0]

    def etcd_leader(self) -> Target | None:
        leader = self._etcd.leader()
        return next(target for target in self.etcd_members() if target.name == leader.name)

    def endpoints(self) -> tuple[str, ...]:
        return tuple(member.endpoint for member in self._etcd.members)

    def links(self) -> Immovable:
        return self._links

    def start(self, target: Target) -> Target:
        return target

    def networks(self) -> Fixed:
        return Fixed()

    def evidence(self, target: Target, what: str, since: float) -> str:
        return ""

    def condition(self, target: Target) -> Condition:
        return condition(Process(target.pid, target.started))

    def kill(self, *targets: Target) -> None:
        pass

    terminate = pause = resume = kill


class Immovable:
    """`Links` on which rules have no effect."""

    def __init__(self, etcd: Embedded, replicas: Sequence[str], presence: str) -> None:
        self._endpoints = {
            **{Link(name, member.name): member.endpoint for name in replicas for member in etcd.members},
            **{Link(STRANGER, name): presence for name in replicas},
        }

    def all(self) -> tuple[Link, ...]:
        return tuple(self._endpoints)

    def hold(self, rules: Mapping[Link, Rule]) -> Immovable:
        assert rules
        return self

    def counters(self, link: Link) -> Counters:
        assert link in self._endpoints
        return Counters()

    def endpoint(self, link: Link) -> str:
        return self._endpoints[link]

    def release(self) -> None:
        pass

    def used(self) -> int:
        return 0

    def dropped(self) -> tuple[()]:
        return ()


class Indifferent:
    """In place of a gateway's caller: what would change something is answered and not sent."""

    def __init__(self, caller: Any) -> None:
        self._caller = caller
        self.picker = caller.picker
        self.channels = caller.channels

    def call(self, request: Any) -> Any:
        if not request.write and request.method is not COMPACT:
            return self._caller.call(request)
        response = request.method.response()
        if request.method is TXN:
            response.succeeded = True
            response.header.revision = self._caller.witness.sending()
        return response


class Careless:
    """A guard that keeps nothing, and counts what it was asked to keep and did not get back."""

    def __init__(self) -> None:
        self.kept: list[Remedy] = []

    def promise(self, remedy: Remedy) -> Careless:
        self.kept.append(remedy)
        return self

    def release(self) -> None:
        self.kept.pop()


class _Presence(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        self.request.sendall(b"it is me\n")
        self.request.recv(100)


class _Live(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


def sleeps(pid: int) -> bool:
    """Has the process become `sleep`? For a moment, a process that becomes another program has no environment."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"/bin/sleep\0")


@contextmanager
def immune(etcd: Embedded, prefix: str, folder: Path) -> Iterator[Scene]:
    """A scene on which no fault has an effect."""
    with ExitStack() as undo:
        servers = [
            undo.enter_context(socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler))
            for handler in (_Presence, _Live)
        ]
        for server in servers:
            server.daemon_threads = True
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            undo.callback(server.shutdown)
        presence, live = (f"127.0.0.1:{server.server_address[1]}" for server in servers)
        file = folder / "clock"
        file.write_bytes(clocks.encoded(0.0))
        environment = {
            **os.environ,
            clocks.VARIABLE: str(file),
            "LD_PRELOAD": clocks.LIBRARY,  # nowhere to be found, and left out by the loader
            collector.VARIABLE: f"http://127.0.0.1:{free_ports(1)[0]}",
        }
        replicas = []
        for name in ("replica-1", "replica-2"):
            child = Child(["/bin/sleep", "1000"], log=folder / "log", environment=environment)
            undo.callback(child.kill)
            eventually(lambda made=child: sleeps(made.pid), within=30.0, what="it is what it was started to be")
            eventually(lambda made=child: clocks.VARIABLE in clocks.environment(made.process), within=30.0)
            replicas.append(Target(name, name, child.pid, child.process.started, f"http://{live}"))
        gateway = Gateway(etcd.connection, purpose="test", witness=Witness())
        undo.callback(gateway.close)
        lock = LockName(prefix, "kube-system", "kube-scheduler")
        record = LeaderRecord(holder_identity="replica-1", lease_duration=60.0, renewal="1")
        puts = (Put(f"{prefix}/{MARKER}", b"{}"), Put(lock.lease, record.encode()))
        gateway.txn(Txn(compares=(), then=puts), timeout=10.0)
        gateway.caller = Indifferent(gateway.caller)  # type: ignore[assignment]
        yield Scene(
            cluster=Immune(etcd, replicas, Immovable(etcd, [target.name for target in replicas], presence)),
            gateway=gateway,
            lock=lock,
            clock=SystemClock(),
            stop=threading.Event(),
            random=random.Random(1),  # noqa: S311 - no secret is drawn
            folder=folder,
            guard=Careless(),
            remedies=Remediable(folder),
            patience=PATIENCE,
        )
