"""The fault proxy as a process: each mode shown by what both ends see, and shown undone."""

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

from chaos.cluster.plan import Plan
from chaos.cluster.ways import Linked
from chaos.errors import LinksGone
from chaos.proxy.connection import abort
from chaos.proxy.link import STRANGER, Link
from chaos.proxy.links import ProxyLinks
from chaos.proxy.pipe import CAPACITY
from chaos.proxy.rule import PASS, Direction, Mode, Rule, Unit
from component.clock import SystemClock
from tests.harness.plain_server import PlainServer, dial, ending, exchange, take
from tests.harness.wait import eventually

CLOCK = SystemClock()
NEVER = threading.Event()
LINK, OTHER = Link("replica-1", "etcd-1"), Link("replica-2", "etcd-1")
PRESENCE = Link("replica-2", "replica-1")


@contextmanager
def running(folder):
    (folder / "log").mkdir(exist_ok=True)
    with PlainServer() as server:
        ways = Linked(Plan(folder=folder, replicas=3), {"etcd-1": server.address}, clock=CLOCK, stop=NEVER)
        try:
            ways.moved("replica-1", 0, server.address)
            yield server, ways, ProxyLinks(ways.state().control)
        finally:
            ways.stop()


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    with running(tmp_path_factory.mktemp("proxy")) as found:
        yield found


@pytest.fixture
def server(proxy):
    proxy[0].guests.clear()
    return proxy[0]


@pytest.fixture
def links(server, proxy):
    yield proxy[2]
    for link in (LINK, OTHER, PRESENCE):
        eventually(lambda link=link: proxy[2].counters(link).rule == PASS, within=20.0)


@pytest.fixture
def connect(links):
    opened = []

    def connect(link=LINK):
        opened.append(dial(links.endpoint(link)))
        return opened[-1]

    yield connect
    for each in opened:
        each.close()


def fate(connect, link=LINK):
    """How a connection that is made now ends; it may be reset before it is made."""
    try:
        return ending(connect(link))
    except ConnectionResetError:
        return "reset"


def guest(server, number=-1):
    return eventually(lambda: server.guests, within=20.0)[number]


def passes(connect, link=LINK):
    return exchange(connect(link), b"all is well") == b"all is well"


def test_every_link_has_its_own_port_but_those_to_one_presence(links):
    found = links.all()
    assert [link for link in found if link.kind == "etcd"] == [Link(f"replica-{n}", "etcd-1") for n in (1, 2, 3)]
    assert [link.source for link in found if link.destination == "replica-1"] == ["replica-2", "replica-3", STRANGER]
    assert len({links.endpoint(link) for link in found if link.kind == "etcd"}) == 3
    assert len({links.endpoint(link) for link in found if link.destination == "replica-1"}) == 1


def test_what_is_said_arrives_and_is_counted(links, server, connect):
    own = Link("replica-3", "etcd-1")  # that no other test dials
    connection, much = connect(own), os.urandom(3 * CAPACITY)
    writer = threading.Thread(target=connection.sendall, args=(much,))
    writer.start()
    assert take(connection, len(much)) == much
    writer.join()
    counters = links.counters(own)
    assert counters.to_passed == counters.from_passed == len(much)
    assert (counters.accepted, counters.open) == (1, 1)
    connection.close()
    eventually(lambda: guest(server).end, within=20.0)
    guest(server).socket.close()
    eventually(lambda: links.counters(own).open == 0, within=20.0)


def test_a_half_close_is_passed_on_as_one(server, connect):
    connection = connect()
    connection.sendall(b"last words")
    connection.shutdown(socket.SHUT_WR)
    eventually(lambda: guest(server).end == "closed", within=20.0)
    guest(server).socket.sendall(b" heard")
    guest(server).socket.close()
    assert take(connection, 100) == b"last words heard"


def test_a_reset_is_passed_on_as_one_each_way(server, connect):
    connection = connect()
    exchange(connection, b"x")
    abort(connection)
    eventually(lambda: guest(server).end == "reset", within=20.0)
    second = connect()
    exchange(second, b"x")
    lost = eventually(lambda: server.guests[1:], within=20.0)[0]
    lost.reset()
    assert ending(second) == "reset"


def test_who_is_not_there_is_told_by_a_reset(links, connect):
    before = links.counters(Link("replica-1", "replica-2"))
    assert fate(connect, Link("replica-1", "replica-2")) == "reset"
    after = links.counters(Link(STRANGER, "replica-2"))
    assert after.unreachable == 1 + before.unreachable


def test_refused_and_undone(links, server, connect):
    connection, endpoint = connect(), links.endpoint(LINK)
    exchange(connection, b"x")
    held = links.hold({LINK: Rule(mode=Mode.REFUSE)})
    assert not links.counters(LINK).listening
    assert ending(connection) == "reset"
    eventually(lambda: guest(server).end == "reset", within=20.0)
    with pytest.raises(ConnectionRefusedError):
        connect()
    assert passes(connect, OTHER)
    held.release()
    assert links.counters(LINK).listening
    assert links.endpoint(LINK) == endpoint
    assert passes(connect)


def test_reset_and_undone(links, connect):
    connection = connect()
    exchange(connection, b"x")
    held = links.hold({LINK: Rule(mode=Mode.RESET)})
    assert ending(connection) == "reset"
    assert fate(connect) == "reset"
    held.release()
    assert passes(connect)


def test_only_the_connections_that_there_are(links, connect):
    connection = connect()
    exchange(connection, b"x")
    held = links.hold({LINK: Rule(mode=Mode.RESET, unit=Unit.PRESENT)})
    assert ending(connection) == "reset"
    connection = connect()
    older = links.hold({LINK: PASS})
    older.release()  # the one before is in force again, and is over all the same
    assert exchange(connection, b"x") == b"x"
    held.release()


@pytest.mark.parametrize("mode", [Mode.REFUSE, Mode.RESET])
def test_the_first_few_connections_fail_and_then_it_heals_by_itself(links, connect, mode):
    held = links.hold({LINK: Rule(mode=mode, first=2), OTHER: Rule(mode=mode, first=2)})
    assert [fate(connect, link) for link in (LINK, OTHER)] == ["reset", "reset"]
    assert held.used() == 2
    assert passes(connect)
    assert passes(connect, OTHER)
    held.release()
    assert held.used() == 2


@pytest.mark.parametrize("direction", Direction)
def test_swallowed_by_a_black_hole_and_delivered_afterwards(links, server, connect, direction):
    connection = connect()
    exchange(connection, b"before ")
    held = links.hold({LINK: Rule(mode=Mode.BLACK_HOLE, direction=direction)})
    connection.sendall(b"meanwhile")
    passed = direction is Direction.FROM

    def is_held():
        counters = links.counters(LINK)
        return (counters.from_held if passed else counters.to_held) == len(b"meanwhile")

    eventually(is_held, within=20.0)
    assert guest(server).heard == (b"before meanwhile" if passed else b"before ")
    connection.settimeout(0.05)
    with pytest.raises(TimeoutError):
        connection.recv(1)
    held.release()
    connection.settimeout(20.0)
    assert take(connection, 9) == b"meanwhile"


def test_a_connection_begun_in_a_black_hole_is_made_once_it_is_lifted(links, server, connect):
    held = links.hold({LINK: Rule(mode=Mode.BLACK_HOLE)})
    connection = connect()
    connection.sendall(b"is anybody there")
    eventually(lambda: links.counters(LINK).to_held, within=20.0)
    assert server.guests == []
    gone = connect()
    gone.sendall(b"never mind")
    eventually(lambda: links.counters(LINK).to_held == 16 + 10, within=20.0)
    abort(gone)
    eventually(lambda: links.counters(LINK).to_held == 16, within=20.0)  # it never was on its way
    held.release()
    assert take(connection, 16) == b"is anybody there"
    assert [each.heard for each in server.guests] == [b"is anybody there"]


def test_ends_are_swallowed_too_and_nothing_spins(links, proxy, server, connect):
    both, half = connect(), connect()
    for connection in (both, half):
        exchange(connection, b"x")
    held = links.hold({LINK: Rule(mode=Mode.BLACK_HOLE)})
    abort(both)
    half.shutdown(socket.SHUT_WR)
    first = connect()
    abort(first)
    ticks, began = used(proxy), CLOCK.now()
    CLOCK.wait(NEVER, 0.3)
    assert (used(proxy) - ticks) / os.sysconf("SC_CLK_TCK") < (CLOCK.now() - began) / 2
    assert [each.end for each in server.guests] == ["", ""]
    held.release()
    eventually(lambda: sorted(each.end for each in server.guests) == ["closed", "reset"], within=20.0)


def used(proxy):
    fields = Path(f"/proc/{proxy[1].state().pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_late_and_in_time_again(links, connect):
    connection = connect()
    held = links.hold({LINK: Rule(latency=0.1, jitter=0.05, seed=3)})
    began = CLOCK.now()
    assert exchange(connection, b"late") == b"late"
    assert CLOCK.now() - began >= 2 * 0.05
    held.release()
    long = links.hold({LINK: Rule(latency=60.0)})
    connection.sendall(b"much later")
    eventually(lambda: links.counters(LINK).to_held, within=20.0)
    long.release()
    assert take(connection, 10) == b"much later"  # nothing waits for a rule that is lifted


def test_rules_are_lifted_when_whoever_set_them_is_killed(links, proxy, connect):
    program = """
import sys
from chaos.proxy.link import Link
from chaos.proxy.links import ProxyLinks
from chaos.proxy.rule import Mode, Rule
held = ProxyLinks(sys.argv[1]).hold({Link("replica-1", "etcd-1"): Rule(mode=Mode.REFUSE)})
print("held", flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", program, proxy[1].state().control]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tool:
        assert tool.stdout.readline() == "held\n"
        with pytest.raises(ConnectionRefusedError):
            connect()
        tool.kill()
    eventually(lambda: links.counters(LINK).listening, within=20.0)
    assert passes(connect)


def test_those_who_dial_one_presence_are_told_apart(links, proxy, connect):
    two, three = PRESENCE, Link("replica-3", "replica-1")
    with dialled(links, proxy, two) as one, dialled(links, proxy, three) as other:
        held = links.hold({two: Rule(mode=Mode.REFUSE)})
        for dialler in (one, other):
            dialler.stdin.write("\n")
            dialler.stdin.flush()
        assert one.stdout.readline() == "reset\n"
        assert other.stdout.readline() == "True\n"
        assert links.counters(two).reset == 1
        assert passes(connect, three)  # this process is a stranger, which shares the port
        held.release()
    proxy[1].moved("replica-2", 0)
    proxy[1].moved("replica-3", 0)


@contextmanager
def dialled(links, proxy, link):
    """A process in a replica's place that has dialled; told to, it talks and says whether it was heard."""
    program = """
import sys
from tests.harness.plain_server import dial, exchange
sys.stdin.readline()
connection = dial(sys.argv[1])
sys.stdin.readline()
try:
    print(exchange(connection, b"x") == b"x", flush=True)
except OSError:
    print("reset", flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", program, links.endpoint(link)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as dialler:
        proxy[1].moved(link.source, dialler.pid)
        before = links.counters(link).accepted
        dialler.stdin.write("\n")
        dialler.stdin.flush()
        eventually(lambda: links.counters(link).accepted == before + 1, within=20.0)
        yield dialler
        dialler.kill()


def test_a_presence_that_nobody_may_dial_is_refused(links, connect):
    everybody = [link for link in links.all() if link.destination == "replica-1"]
    held = links.hold(dict.fromkeys(everybody, Rule(mode=Mode.REFUSE)))
    with pytest.raises(ConnectionRefusedError):
        connect(PRESENCE)
    held.release()
    assert passes(connect, PRESENCE)


def test_the_newer_of_two_holds_counts_until_it_is_released(links, connect):
    connection = connect()
    older = links.hold({LINK: Rule(mode=Mode.BLACK_HOLE)})
    connection.sendall(b"held")
    eventually(lambda: links.counters(LINK).to_held == 4, within=20.0)
    newer = links.hold({LINK: PASS})
    assert take(connection, 4) == b"held"
    newer.release()
    newer.release()
    assert links.counters(LINK).rule.mode is Mode.BLACK_HOLE
    older.release()
    assert exchange(connection, b"free") == b"free"


def test_a_link_that_is_none(links):
    for ask in (links.counters, links.endpoint, lambda link: links.hold({LINK: PASS, link: PASS})):
        with pytest.raises(KeyError):
            ask(Link("replica-1", "etcd-9"))


def test_a_proxy_that_has_ended_is_said_to_have(tmp_path):
    with running(tmp_path) as (_, ways, links):
        held = links.hold({LINK: Rule(mode=Mode.REFUSE)})
        ways.step()
        os.kill(ways.state().pid, signal.SIGKILL)
        eventually(lambda: ways._proxy._child.exit_code is not None, within=20.0)
        for ask in (links.all, lambda: links.hold({LINK: PASS}), held.used, ways.step):
            with pytest.raises(LinksGone):
                ask()


def test_a_proxy_goes_with_whoever_started_it(tmp_path):
    program = """
import sys, threading
from pathlib import Path
from chaos.cluster.plan import Plan
from chaos.cluster.ways import Linked
from component.clock import SystemClock
folder = Path(sys.argv[1])
(folder / "log").mkdir()
ways = Linked(Plan(folder=folder), {"etcd-1": "127.0.0.1:9"}, clock=SystemClock(), stop=threading.Event())
print(ways.state().control, flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        links = ProxyLinks(owner.stdout.readline().strip())
        assert len(links.all()) == 3 + 6 + 3
        owner.kill()

    def is_gone():
        try:
            links.all()
        except LinksGone:
            return True
        return False

    eventually(is_gone, within=20.0)
