"""What proves that a process is gone, over real sockets: its kernel's word, and nothing else."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest

from component.clock import SystemClock
from lockd.presence import server as serving
from lockd.presence.config import PresenceConfig, PresenceTls
from lockd.presence.connection import Connection, End, Patience
from lockd.presence.dialer import Dialer, Target
from lockd.presence.server import PresenceServer
from lockd.presence.wire import GOODBYE, hello
from tests.harness import certs
from tests.harness.proxy import Proxy
from tests.harness.wait import eventually

CLOCK = SystemClock()
NEVER = threading.Event()
TLS = PresenceTls(certs.path("server.pem"), certs.path("server.key"), certs.path("ca.pem"))

LISTENER = """
import sys, threading
from component.clock import SystemClock
from lockd.presence.config import PresenceConfig
from lockd.presence.server import PresenceServer
server = PresenceServer("a", PresenceConfig(), clock=SystemClock())
print(server.listen(), flush=True)
server.run(threading.Event())
"""


@contextmanager
def process():
    """A server in a process of its own: it and its address."""
    child = subprocess.Popen([sys.executable, "-c", LISTENER], stdout=subprocess.PIPE, text=True)
    try:
        yield child, child.stdout.readline().strip()
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


class Serving:
    """A server in a thread."""

    def __init__(self, identity: str = "a", config: PresenceConfig | None = None) -> None:
        self.server = PresenceServer(identity, config or PresenceConfig(), clock=CLOCK)
        self.address = self.server.listen()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.server.run, args=(self.stop,), daemon=True)
        self.thread.start()

    def end(self) -> None:
        self.stop.set()
        self.server.wake()
        self.thread.join(5.0)
        self.server.close()


@contextmanager
def serve(identity="a", config=None):
    one = Serving(identity, config)
    try:
        yield one
    finally:
        one.end()


class Watching:
    """A dialer in a thread, and what it found."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.found = []
        self.dialer = Dialer(self.found.append, tls=tls, clock=CLOCK)
        self.thread = threading.Thread(target=self.dialer.run, args=(NEVER,), daemon=True)
        self.thread.start()

    def follow(self, address: str, identity: str = "a") -> None:
        target = Target(identity, address)
        self.dialer.follow(target)
        eventually(lambda: self.dialer.connected == target, within=20.0, what="it is connected")

    @property
    def gone(self) -> list[str]:
        return [finding.identity for finding in self.found if finding.gone]

    def until_gone(self) -> None:
        eventually(lambda: self.found, within=20.0, what="a finding")
        assert self.gone == ["a"]


@pytest.fixture
def watching():
    one = Watching()
    yield one
    one.dialer.end()
    one.thread.join(5.0)
    assert not one.thread.is_alive()


def quiet(watching: Watching, seconds: float = 0.3) -> None:
    """Nothing comes; it has had the time."""
    CLOCK.wait(NEVER, seconds)
    assert watching.found == []


class Fake:
    """Listens, and says to each who comes what the test wants."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"

    def accept(self, said: bytes = b"") -> socket.socket:
        assert select.select([self.listener], [], [], 20.0)[0], "nobody dials"
        accepted, _ = self.listener.accept()
        accepted.sendall(said)
        return accepted


@pytest.fixture
def fake():
    one = Fake()
    yield one
    one.listener.close()


def reset(one: socket.socket) -> None:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.close()


# --- evidence ---


def test_a_killed_process_is_gone(watching):
    with process() as (child, address):
        watching.follow(address)
        child.kill()
        watching.until_gone()


def test_a_killed_process_is_gone_through_a_link_too(watching):
    with process() as (child, address), Proxy(address) as proxy:
        watching.follow(proxy.endpoint)
        child.kill()
        watching.until_gone()


def test_a_process_that_exits_without_a_word_is_gone(watching):
    with serve() as one:
        watching.follow(one.address)
        one.end()
        watching.until_gone()


@pytest.mark.parametrize("end", [socket.socket.close, reset])
def test_the_end_without_goodbye_of_who_refuses_then_is_evidence(watching, fake, end):
    fake_address = fake.address
    with contextlib.ExitStack() as stack:
        watching.dialer.follow(Target("a", fake_address))
        accepted = stack.enter_context(fake.accept(hello("a")))
        eventually(lambda: watching.dialer.connected, within=20.0)
        fake.listener.close()
        end(accepted)
        watching.until_gone()
        assert [finding.end.value for finding in watching.found] == ["reset" if end is reset else "closed"]


@pytest.mark.parametrize("said", [hello("b"), b"HTTP/1.1 400\r\n", b""])
def test_of_who_is_another_then_or_silent_too(watching, fake, said):
    watching.dialer.follow(Target("a", fake.address))
    first = fake.accept(hello("a"))
    eventually(lambda: watching.dialer.connected, within=20.0)
    first.close()
    with fake.accept(said):
        watching.until_gone()


# --- none ---


@pytest.fixture
def in_time(monkeypatch):
    """Whoever is there answers in time, however busy the machine."""
    monkeypatch.setattr("lockd.presence.dialer.SECOND_DIAL", 20.0)


def test_a_stopped_process_is_not_gone(watching):
    with process() as (child, address):
        watching.follow(address)
        os.kill(child.pid, signal.SIGSTOP)
        quiet(watching)
        os.kill(child.pid, signal.SIGCONT)
        quiet(watching, 0.1)
        child.kill()
        watching.until_gone()


def test_a_connection_that_a_middlebox_resets_is_withdrawn_and_kept_anew(watching, in_time):
    with serve() as one, Proxy(one.address) as proxy:
        watching.follow(proxy.endpoint)
        for count in range(1, 4):
            proxy.reset()
            eventually(lambda least=count: len(watching.found) >= least, within=20.0)
            eventually(lambda: watching.dialer.connected, within=20.0)
        assert watching.gone == []
        assert proxy.connections == 4


def test_packets_that_are_lost_prove_nothing(watching):
    with serve() as one, Proxy(one.address) as proxy:
        watching.follow(proxy.endpoint)
        proxy.black_hole()
        quiet(watching)


def test_without_the_identity_nothing_counts(watching, fake):
    watching.dialer.follow(Target("a", fake.address))
    for said in (b"", hello("a")[:-1], hello("b"), b"HTTP/1.1 400\r\n\r\n", b"x" * 5000):
        fake.accept(said).close()
    quiet(watching)


def test_nor_after_a_goodbye(watching):
    with serve() as one:
        watching.follow(one.address)
        one.server.say_goodbye(within=5.0)
        quiet(watching)


def test_a_goodbye_and_the_end_may_come_together(watching, fake):
    watching.dialer.follow(Target("a", fake.address))
    accepted = fake.accept(hello("a"))
    eventually(lambda: watching.dialer.connected, within=20.0)
    fake.listener.close()
    accepted.sendall(GOODBYE)
    reset(accepted)
    quiet(watching)


def test_a_goodbye_and_the_end_may_come_in_one_read():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.sendall(hello("a") + GOODBYE)
        theirs.close()
        assert Connection(ours).read() is End.GOODBYE


def test_a_close_of_its_own_proves_nothing(watching):
    with serve() as one, serve("b") as other:
        watching.follow(one.address)
        watching.follow(other.address, "b")
        eventually(lambda: one.server.connections == 0, within=20.0)
        watching.dialer.follow(None)
        eventually(lambda: other.server.connections == 0, within=20.0)
        assert watching.found == []


def test_whom_the_record_names_no_more_is_not_accused(watching, fake):
    watching.dialer.follow(Target("a", fake.address))
    accepted = fake.accept(hello("a"))
    eventually(lambda: watching.dialer.connected, within=20.0)
    watching.dialer.follow(None)
    accepted.close()
    quiet(watching)


def test_an_error_of_its_own_proves_nothing(watching, monkeypatch):
    with serve() as one:
        watching.follow(one.address)
        made = socket.socket

        def none_left(family, kind):
            raise OSError(24, "Too many open files")

        monkeypatch.setattr("lockd.presence.connection.socket.socket", none_left)
        one.end()
        CLOCK.wait(NEVER, 0.3)
        monkeypatch.setattr("lockd.presence.connection.socket.socket", made)
        assert watching.found == []


def test_a_process_that_stood_still_did_not_wait():
    """It comes back long after its deadline: what it waited for is there, and counts."""

    class Jumping:
        moments = 0.0

        def now(self):
            self.moments += 50.0
            return self.moments

    here, there = socket.socketpair()
    with here, there:
        patience = Patience(0.1, Jumping())
        assert not patience.wait(here.fileno(), select.POLLIN)
        assert patience.left == pytest.approx(0.08)
        there.sendall(b"x")
        assert patience.wait(here.fileno(), select.POLLIN)


# --- the server ---


def test_it_tells_its_identity_and_reads_nothing():
    with serve() as one, socket.create_connection(_pair(one), timeout=20.0) as s:
        assert s.recv(100) == hello("a")
        s.sendall(b"x" * 10_000)
        s.settimeout(0.3)
        with pytest.raises(TimeoutError):
            s.recv(1)
        assert one.server.connections == 1


def _pair(one: Serving) -> tuple[str, int]:
    host, _, port = one.address.rpartition(":")
    return host, int(port)


def test_more_than_it_keeps_hear_a_goodbye_at_once_and_no_place_is_lost(monkeypatch):
    monkeypatch.setattr(serving, "MOST", 3)
    with serve() as one, contextlib.ExitStack() as stack:
        kept = [stack.enter_context(socket.create_connection(_pair(one), timeout=20.0)) for _ in range(3)]
        assert [each.recv(100) for each in kept] == [hello("a")] * 3
        with socket.create_connection(_pair(one), timeout=20.0) as more:
            assert _all(more) == hello("a") + GOODBYE
        kept[0].close()
        eventually(lambda: one.server.connections == 2, within=20.0)
        with socket.create_connection(_pair(one), timeout=20.0) as again:
            assert again.recv(100) == hello("a")


def test_a_full_server_is_alive(watching, in_time, monkeypatch):
    monkeypatch.setattr(serving, "MOST", 1)
    with serve() as one, Proxy(one.address) as proxy:
        watching.follow(proxy.endpoint)
        with contextlib.ExitStack() as stack:
            proxy.reset()
            for _ in range(20):
                stack.enter_context(socket.create_connection(_pair(one), timeout=20.0))
            eventually(lambda: watching.found, within=20.0)
        assert watching.gone == []


def test_two_cannot_share_a_port():
    with serve() as one, pytest.raises(OSError, match="the port is in use"):
        PresenceServer("b", PresenceConfig(bind=one.address), clock=CLOCK).listen()


def _all(one: socket.socket) -> bytes:
    said = b""
    while data := one.recv(100):
        said += data
    return said


def _told(one: Serving, context: ssl.SSLContext) -> bytes:
    """What somebody who shakes hands by this is told."""
    raw = socket.create_connection(_pair(one), timeout=20.0)
    try:
        with context.wrap_socket(raw) as secured:
            return secured.recv(100)
    except OSError:
        return b""


# --- mutual TLS ---


@pytest.fixture
def guarded():
    with serve("a", PresenceConfig(tls=TLS)) as one:
        yield one


def test_tls_evidence_and_goodbye(guarded):
    watching = Watching(_client().client())
    watching.follow(guarded.address)
    guarded.end()
    watching.until_gone()
    watching.dialer.end()
    with serve("a", PresenceConfig(tls=TLS)) as other:
        told = Watching(_client().client())
        told.follow(other.address)
        other.server.say_goodbye(within=5.0)
        quiet(told)
        told.dialer.end()


def _client() -> PresenceTls:
    return PresenceTls(certs.path("client.pem"), certs.path("client.key"), certs.path("ca.pem"))


@pytest.mark.parametrize("cert", ["", "impostor"])
def test_tls_a_stranger_is_told_nothing(guarded, cert):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(certs.path("ca.pem"))
    if cert:
        context.load_cert_chain(certs.path(f"{cert}.pem"), certs.path(f"{cert}.key"))
    assert _told(guarded, context) == b""
    assert guarded.server.connections == 0


def test_tls_who_says_nothing_costs_nobody_else_anything(guarded, monkeypatch):
    with socket.create_connection(_pair(guarded), timeout=20.0):
        watching = Watching(_client().client())
        watching.follow(guarded.address)
        watching.dialer.end()


def test_tls_and_plain_dont_mix(guarded, watching):
    watching.dialer.follow(Target("a", guarded.address))
    quiet(watching)
    assert watching.dialer.connected is None
