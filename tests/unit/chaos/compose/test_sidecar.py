"""The proxy in a container, and the conversations with it."""

import json

import pytest

from chaos.compose.sidecar import SPARE, Conversations
from chaos.control import Unheard
from chaos.proxy.addresses import Addresses
from chaos.proxy.link import STRANGER, Link
from chaos.proxy.sidecar import ContainerExchange
from lockd.etcd.loopback import free_ports
from tests.harness.clock import ManualClock
from tests.harness.containers import FakeEngine, container


class Loop:
    """One that calls nobody."""

    def watch(self, *_):
        pass

    def forget(self, *_):
        pass


class Net:
    """A network's names."""

    def __init__(self, **found):
        self.found = found

    def __call__(self, name):
        if name not in self.found:
            raise OSError(name)
        return self.found[name]


def test_an_address_is_the_last_that_its_name_had():
    net = Net(a="10.0.0.2", b="10.0.0.3")
    addresses = Addresses(["a", "b"], clock=ManualClock(), resolve=net)
    assert addresses.of("a") == ""
    addresses.look("a")
    addresses.look("b")
    del net.found["a"]
    addresses.look("a")
    assert (addresses.of("a"), addresses.name_of("10.0.0.2"), addresses.name_of("10.0.0.9")) == ("10.0.0.2", "a", "")


def test_two_that_swap_their_addresses_are_told_apart():
    net = Net(a="10.0.0.2", b="10.0.0.3")
    addresses = Addresses(["a", "b"], clock=ManualClock(), resolve=net)
    addresses.look("a")
    addresses.look("b")
    net.found = {"a": "10.0.0.3", "b": "10.0.0.2"}
    addresses.look("b")
    assert (addresses.name_of("10.0.0.2"), addresses.of("a")) == ("b", "")
    addresses.look("a")
    assert {name: addresses.of(name) for name in "ab"} == net.found
    assert addresses.name_of("10.0.0.3") == "a"


def exchange(addresses):
    ports = free_ports(3)
    doors = [
        ["replica-1", "etcd-1", ports[0]],
        ["replica-2", "etcd-1", ports[1]],
        *([source, "replica-1", ports[2]] for source in ("replica-2", STRANGER)),
    ]
    plan = {"doors": doors, "targets": {"etcd-1": "etcd-1:2379", "replica-1": "replica-1:10260"}}
    return ports, ContainerExchange(Loop(), plan, addresses, "10.0.0.9")


def test_doors_are_where_the_plan_says_and_lead_where_names_are():
    addresses = Addresses(["etcd-1"], clock=ManualClock(), resolve=Net(**{"etcd-1": "10.0.0.2"}))
    ports, made = exchange(addresses)
    assert made.endpoints() == {
        Link("replica-1", "etcd-1"): f"10.0.0.9:{ports[0]}",
        Link("replica-2", "etcd-1"): f"10.0.0.9:{ports[1]}",
        Link("replica-2", "replica-1"): f"10.0.0.9:{ports[2]}",
        Link(STRANGER, "replica-1"): f"10.0.0.9:{ports[2]}",
    }
    assert made.target("etcd-1") is None
    addresses.look("etcd-1")
    assert made.target("etcd-1") == ("10.0.0.2", 2379)
    made.close(list(made.endpoints()))


def test_who_dials_is_told_by_the_address():
    addresses = Addresses(
        ["replica-2", "x"], clock=ManualClock(), resolve=Net(**{"replica-2": "10.0.0.2", "x": "10.0.0.3"})
    )
    addresses.look("replica-2")
    addresses.look("x")
    _, made = exchange(addresses)
    routes = {"replica-2": None, STRANGER: None}
    assert [made.who(routes, (f"10.0.0.{last}", 1), ("", 0)) for last in (2, 3, 4)] == ["replica-2", STRANGER, STRANGER]
    made.close(list(made.endpoints()))


class Wire:
    """Answers everything by 1, or not at all."""

    def __init__(self):
        self.closed = self.silent = False
        self._asked = 0

    def sendall(self, data, /):
        self._asked += 1

    def recv(self, most, /):
        return b"" if self.silent else json.dumps({"answer": 1}).encode() + b"\n"

    def close(self):
        self.closed = True


class Engine(FakeEngine):
    """One whose commands can be talked to."""

    def __init__(self):
        super().__init__()
        self.wires = []

    def talk(self, id, words):  # noqa: A002
        self.container(id)
        self.wires.append(Wire())
        return self.wires[-1]


def test_a_conversation_that_is_over_is_kept_for_the_next_question():
    engine = Engine()
    engine.add(container("links", "links"))
    with Conversations(engine, lambda: engine.containers()[0]) as all_of_them:
        for _ in range(3):
            with all_of_them.begin() as one:
                assert one.ask("links") == 1
        assert len(engine.wires) == 1
        many = [all_of_them.begin() for _ in range(SPARE + 2)]
        for each in many:
            each.close()
        assert sum(wire.closed for wire in engine.wires) == 2
    assert all(wire.closed for wire in engine.wires)


def test_one_that_gave_no_answer_is_not_kept():
    engine = Engine()
    engine.add(container("links", "links"))
    with Conversations(engine, lambda: engine.containers()[0]) as all_of_them:
        one = all_of_them.begin()
        engine.wires[0].silent = True
        with pytest.raises(Unheard, match="ended"):
            one.ask("links")
        one.close()
        assert engine.wires[0].closed
        all_of_them.begin()
        assert len(engine.wires) == 2
