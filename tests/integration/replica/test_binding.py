"""Binds on a real etcd: what it takes in one transaction, and what the network does to replies."""

from __future__ import annotations

import itertools
import queue
import threading
import uuid

import pytest

from component.clock import SystemClock
from lockd.fencing import Guard, ObjectWrite, Token
from lockd.leadership import Leadership
from lockd.ports import Put, Txn
from replica.api import codec
from replica.binder import Binder
from replica.binding import Binding, Fate
from tests.harness.etcd import opened
from tests.harness.objects import pod_value
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

CLOCK = SystemClock()
WITHIN = 15.0


class Setting:
    """A term on an etcd, and a binder that runs in it."""

    def __init__(self, gateway, prefix, sender=None, **options):
        self.gateway, self.prefix = gateway, prefix
        self.term = f"{prefix}/terms/kube-system/kube-scheduler"
        token = Token(gateway.txn(Txn((), (Put(self.term, b"me"),)), timeout=5).revision)
        self.leadership = Leadership(
            identity="me",
            guard=Guard(self.term, token, b"me"),
            traceparent="",
            gate=CLOCK.now() + 3600,
            work_timeout=20.0,
            clock=CLOCK,
            refused=lambda _token: None,
        )
        self.verdicts = queue.Queue()
        self.binder = Binder(
            sender or gateway,
            self.leadership,
            clock=CLOCK,
            judged=lambda batch: [self.verdicts.put(verdict) for verdict in batch],
            attempt=0.5,
            **options,
        )
        self.thread = threading.Thread(target=self.binder.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.leadership.lost.set()
        self.thread.join(5)
        assert not self.thread.is_alive()

    def key(self, name):
        return f"{self.prefix}/pods/default/{name}"

    def apply(self, *names, filler=0):
        """Pods as a user writes them, and the binds that a scheduler wants for them."""
        step = 4 if filler else 100
        for start in range(0, len(names), step):
            part = names[start : start + step]
            puts = tuple(
                Put(self.key(name), pod_value(name, uid=f"{name}-{uuid.uuid4()}", comment="x" * filler))
                for name in part
            )
            self.gateway.txn(Txn((), puts), timeout=5)
        return [self.binding(name) for name in names]

    def binding(self, name, node="n1"):
        found = codec.decode_pod(self.read(name))
        value = codec.bound(found.value, node, int(self.leadership.token), at="2030-01-01T00:00:00Z")
        return Binding(found, node, ObjectWrite(self.key(name), found.mod_revision, value))

    def read(self, name):
        (kv,) = self.gateway.range(self.key(name), timeout=5).kvs
        return kv

    def fates(self, count):
        found = [self.verdicts.get(timeout=WITHIN) for _ in range(count)]
        return {verdict.binding.pod.name: verdict.fate for verdict in found}

    def submit(self, *groups):
        self.binder.submit(groups)


def alone(bindings):
    return [(binding,) for binding in bindings]


@pytest.fixture
def at(gateway, prefix):
    with Setting(gateway, prefix) as setting:
        yield setting


@pytest.fixture
def proxied(trio, proxies, prefix):
    """A setting whose binds go through the proxies, and nothing else."""
    with (
        opened(trio.connection) as direct,
        opened(proxies.connection) as gateway,
        Setting(direct, prefix, sender=gateway) as setting,
    ):
        yield setting


def test_a_full_batch_is_taken_by_every_etcd(each_etcd, prefix):
    with opened(each_etcd.connection) as gateway, Setting(gateway, prefix, in_flight=1) as at:
        names = [f"p{number}" for number in range(300)]
        at.submit(*alone(at.apply(*names)))
        assert at.fates(300) == dict.fromkeys(names, Fate.BOUND)
        listing = gateway.list(f"{prefix}/pods/", timeout=5)
        assert {codec.decode_pod(kv).node for kv in listing.kvs} == {"n1"}
        # Three transactions, so three revisions.
        assert len({kv.mod_revision for kv in listing.kvs}) == 3


def test_the_largest_groups_are_taken(at):
    first, second = at.apply(*(f"a{number}" for number in range(60))), at.apply(*(f"b{number}" for number in range(30)))
    at.submit(tuple(first), tuple(second))
    assert set(at.fates(90).values()) == {Fate.BOUND}


def test_a_mebibyte_of_pods_is_taken(at):
    names = [f"p{number}" for number in range(12)]
    at.submit(*alone(at.apply(*names, filler=200_000)))
    assert at.fates(12) == dict.fromkeys(names, Fate.BOUND)


def test_one_stale_pod_is_refused_and_the_others_are_bound(at):
    bindings = at.apply("p", "q", "r")
    at.gateway.txn(Txn((), (Put(at.key("q"), at.read("q").value),)), timeout=5)
    at.submit(*alone(bindings))
    assert at.fates(3) == {"p": Fate.BOUND, "q": Fate.CONFLICT, "r": Fate.BOUND}


def test_after_the_term_nothing_is_bound(at):
    bindings = at.apply("p", "q")
    at.gateway.txn(Txn((), (Put(at.term, b"somebody else"),)), timeout=5)
    at.submit(*alone(bindings))
    assert at.fates(2) == {"p": Fate.FENCED, "q": Fate.FENCED}
    assert at.leadership.lost.wait(WITHIN)
    assert codec.decode_pod(at.read("p")).node == ""


def test_a_bind_that_was_committed_and_its_reply_dropped_is_made_once(proxied, proxies):
    bindings = proxied.apply("p", "q")
    lost = proxies.each[0].swallow(proxied.key("p").encode())
    proxied.submit(*alone(bindings))
    assert lost.passed.wait(WITHIN)
    assert proxied.fates(2) == {"p": Fate.BOUND, "q": Fate.BOUND}
    assert proxied.read("p").version == 2
    assert proxied.verdicts.empty()


def test_a_bind_committed_unheard_and_then_changed_by_its_user_is_known(proxied, proxies):
    (binding,) = proxied.apply("p")
    for proxy in proxies.each[1:]:
        proxy.black_hole()
    lost = proxies.each[0].swallow(proxied.key("p").encode())
    proxied.submit((binding,))
    assert lost.passed.wait(WITHIN)
    bound = eventually(lambda: (kv := proxied.read("p")).version == 2 and kv, within=WITHIN)
    envelope = codec.parse_envelope(bound.key, bound.value)
    labelled = codec.encode(envelope.manifest, node=envelope.node_name)
    proxied.gateway.txn(Txn((), (Put(bound.key, labelled),)), timeout=5)
    proxies.heal()
    assert proxied.fates(1) == {"p": Fate.BOUND}
    assert proxied.read("p").version == 3


def test_a_member_that_hangs_costs_an_attempt_and_no_more(proxied, proxies):
    bindings = proxied.apply("p")
    proxies.each[0].black_hole()
    proxied.submit(*alone(bindings))
    assert proxied.fates(1) == {"p": Fate.BOUND}


@pytest.mark.parametrize("size", [63, 120])
def test_a_gang_of_up_to_120_goes_into_one_transaction(at, size):
    gang = at.apply(*(f"p{number}" for number in range(size)))
    at.submit(tuple(gang))
    assert set(at.fates(size).values()) == {Fate.BOUND}
    assert len({at.read(each.pod.name).mod_revision for each in gang}) == 1


def test_gangs_share_transactions_as_far_as_etcd_takes_them(at):
    pods = iter(at.apply(*(f"p{number:03}" for number in range(300))))
    at.submit(*(tuple(itertools.islice(pods, size)) for size in (7, 50, 62, 1, 1, 63, 64, 52)))
    assert set(at.fates(300).values()) == {Fate.BOUND}


def test_a_deposed_leader_learns_of_each_pod_of_a_large_gang_that_it_was_not_bound(at):
    gang = at.apply(*(f"p{number}" for number in range(100)))
    at.gateway.txn(Txn((), (Put(at.term, b"somebody else"),)), timeout=5)
    at.submit(tuple(gang))
    assert set(at.fates(100).values()) == {Fate.FENCED}
