"""What the other replicas know of one, on a real etcd."""

from __future__ import annotations

import threading

import pytest

from component.lifecycle import Group
from lockd.election import Election
from lockd.ports import LockName
from lockd.signals import Stop, StopReason
from replica.app.peers import MAKING_WAY, Peers
from tests.harness.clock import ManualClock
from tests.harness.replicas import STEADY, configured
from tests.harness.wait import eventually

WITHIN = 10.0


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def lock(prefix):
    return LockName(prefix, "kube-system", "kube-scheduler")


@pytest.fixture
def there(gateway, lock):
    """Is its candidate key there?"""
    return lambda: bool(gateway.range(f"{lock.candidates}me", timeout=5.0).kvs)


@pytest.fixture
def leaving(etcd, gateway, lock, there, clock):
    """Leaves after an end, on a thread of its own; the thread."""
    config = configured("me", etcd.connection, lock, STEADY)
    peers = Peers(config, gateway, lambda _: None, clock=clock)
    group = Group("test", clock=clock)
    peers.start(group, http="")
    eventually(there, within=WITHIN, what="its candidate key is there")

    def leave(*, released):
        ended = Election(
            config=config.election,
            nonce="n",
            secret="s",  # noqa: S106 - of nothing
            stopped=Stop(StopReason.ASKED, led=released, released=released, asked=True),
        )
        left = threading.Thread(target=peers.leave, args=(ended, None, 2.0), daemon=True)
        left.start()
        return left

    yield leave
    group.request_stop()
    clock.advance(1000.0)
    assert not group.join(WITHIN)


def test_who_released_leaves_its_successor_alone_for_a_moment(leaving, there, clock):
    moment = clock.now() + MAKING_WAY
    left = leaving(released=True)
    eventually(lambda: moment in clock.waits, within=WITHIN, what="it does nothing")
    assert there()
    clock.set(moment)
    left.join(WITHIN)
    assert not there()


def test_who_had_nothing_to_release_leaves_at_once(leaving, there):
    leaving(released=False).join(WITHIN)
    assert not there()
