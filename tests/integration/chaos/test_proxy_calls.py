"""Calls to a real etcd through the proxy: replies that are swallowed, calls that fail; etcd's history is the proof."""

import threading
from dataclasses import replace

import pytest

from chaos.cluster.plan import Plan
from chaos.cluster.ways import Linked
from chaos.proxy.link import Link
from chaos.proxy.links import ProxyLinks
from chaos.proxy.rule import DropReply, Mode, Rule, Unit
from component.clock import SystemClock
from lockd.errors import OutcomeUnknown, StoreError
from lockd.etcd.retry import settle
from lockd.ports import Compare, Field, Get, Put, Txn
from tests.harness.etcd import opened
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

CLOCK = SystemClock()
NEVER = threading.Event()
LINK = Link("replica-1", "etcd-1")
LARGE = 100_000


@pytest.fixture(scope="module")
def ways(etcd, tmp_path_factory):
    folder = tmp_path_factory.mktemp("proxy")
    (folder / "log").mkdir()
    member = etcd.members[0]
    found = Linked(Plan(folder=folder, replicas=1), {"etcd-1": member.endpoint}, clock=CLOCK, stop=NEVER)
    yield found
    found.stop()


@pytest.fixture
def links(ways):
    return ProxyLinks(ways.state().control)


@pytest.fixture
def linked(etcd, ways):
    """A gateway whose only way to etcd is the link."""
    with opened(replace(etcd.connection, endpoints=ways.endpoints("replica-1"))) as found:
        found.range("ready", limit=1, timeout=20.0)
        yield found


def create(key, value=b"1"):
    return Txn((Compare(key, Field.MOD, 0),), (Put(key, value),), (Get(key),))


@pytest.mark.parametrize("silent", [False, True])
def test_the_reply_of_a_committed_transaction_is_lost(links, linked, gateway, prefix, silent):
    held = links.hold({LINK: Rule(drop_reply=DropReply(silent=silent))})
    assert linked.range(prefix, timeout=20.0).count == 0  # a read is no transaction
    with pytest.raises(OutcomeUnknown):
        linked.txn(create(prefix), timeout=2.0 if silent else 20.0)
    (dropped,) = held.dropped()
    (found,) = gateway.range(prefix, timeout=20.0).kvs
    assert (Link(dropped.source, dropped.destination), dropped.revision) == (LINK, found.mod_revision)
    assert (held.used(), found.version) == (1, 1)
    held.release()
    assert held.dropped() == (dropped,)
    assert settled(linked, create(f"{prefix}/next")).succeeded


def settled(gateway, txn):
    return settle(gateway, txn, clock=CLOCK, stop=NEVER, attempt=2.0, within=30.0)


def test_a_copy_of_it_finds_what_was_committed(links, linked, gateway, prefix):
    held = links.hold({LINK: Rule(drop_reply=DropReply())})
    reply = settled(linked, create(prefix))
    assert not reply.succeeded
    assert reply.replies[0].kv.mod_revision == held.dropped()[0].revision
    assert gateway.range(prefix, timeout=20.0).kvs[0].version == 1
    held.release()


def test_one_that_commits_nothing_gets_its_reply(links, linked, gateway, prefix):
    gateway.txn(create(prefix), timeout=20.0)
    held = links.hold({LINK: Rule(drop_reply=DropReply())})
    assert not linked.txn(create(prefix), timeout=20.0).succeeded
    assert held.used() == 0
    held.release()


def test_only_one_that_names_a_key(links, linked, prefix):
    wanted = f"{prefix}/wanted"
    held = links.hold({LINK: Rule(drop_reply=DropReply(containing=wanted))})
    assert linked.txn(create(f"{prefix}/other"), timeout=20.0).succeeded
    large = Txn((Compare(wanted, Field.MOD, 0),), tuple(Put(f"{prefix}/{n}", b"x" * 50_000) for n in range(10)))
    with pytest.raises(OutcomeUnknown):
        linked.txn(large, timeout=20.0)
    assert held.used() == 1
    held.release()


def test_the_first_calls_fail_without_effect_and_then_it_heals(links, linked, gateway, prefix):
    held = links.hold({LINK: Rule(mode=Mode.RESET, unit=Unit.CALLS, first=3)})
    failed = 0
    while held.used() < 3:
        failed += 1
        with pytest.raises(StoreError):
            linked.txn(create(f"{prefix}/{failed}"), timeout=5.0)
    eventually(lambda: try_to(linked, f"{prefix}/healed"), within=30.0)
    assert [kv.key for kv in gateway.range(f"{prefix}/", prefix=True, timeout=20.0).kvs] == [f"{prefix}/healed"]
    assert links.counters(LINK).calls == 3
    held.release()


def try_to(gateway, key):
    try:
        return gateway.txn(create(key), timeout=5.0)
    except StoreError:
        return None


def test_large_lists_pass_unchanged(linked, gateway, prefix):
    values = {f"{prefix}/{n:03}": bytes([n]) * LARGE for n in range(30)}
    for key, value in values.items():
        gateway.txn(create(key, value), timeout=20.0)
    assert {kv.key: kv.value for kv in linked.list(f"{prefix}/", page=20, timeout=30.0).kvs} == values
