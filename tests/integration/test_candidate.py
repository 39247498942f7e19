"""A candidate's key on a real etcd: it is there as long as its process is, whoever deletes it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import replace

from lockd.candidate import Candidate, Registration
from lockd.ports import Delete, LockName, Put, Txn
from lockd.record import HistoryEntry, encode_history
from tests.harness.electors import CLOCK
from tests.harness.wait import eventually

ME = Candidate(identity="host_1", hostname="host", pid=7, since="2026-01-01T00:00:00Z", http="127.0.0.1:1")


@contextmanager
def registered(gateway, prefix):
    lock = LockName(prefix, "kube-system", "kube-scheduler")
    registration = Registration(gateway, lock, ME, lease_duration=2.0, clock=CLOCK)
    stop = threading.Event()
    thread = threading.Thread(target=registration.run, args=(stop,), daemon=True)
    thread.start()
    try:
        yield registration, lock.candidates + ME.identity
    finally:
        stop.set()
        thread.join(10.0)
        registration.revoke(timeout=5.0)


def kvs(gateway, key):
    return gateway.range(key, timeout=5.0).kvs


def test_it_registers_on_an_etcd_lease_and_is_gone_when_revoked(gateway, prefix):
    with registered(gateway, prefix) as (_, key):
        (kv,) = eventually(lambda: kvs(gateway, key), within=5.0)
        assert Candidate.parse(kv.value) == ME
        assert kv.lease
    assert not kvs(gateway, key)


def test_a_deleted_key_comes_back(gateway, prefix):
    with registered(gateway, prefix) as (_, key):
        eventually(lambda: kvs(gateway, key), within=5.0)
        gateway.txn(Txn((), (Delete(key),)), timeout=5.0)
        (kv,) = eventually(lambda: kvs(gateway, key), within=5.0)
        assert kv.lease


def test_a_revoked_etcd_lease_is_replaced(gateway, prefix):
    with registered(gateway, prefix) as (_, key):
        (first,) = eventually(lambda: kvs(gateway, key), within=5.0)
        gateway.lease_revoke(first.lease, timeout=5.0)
        (second,) = eventually(lambda: kvs(gateway, key), within=5.0)
        assert second.lease != first.lease


def tell_history(gateway, prefix, *terms):
    history = LockName(prefix, "kube-system", "kube-scheduler").history
    gateway.txn(Txn((), (Put(history, encode_history(terms)),)), timeout=5.0)


def test_a_live_leader_whose_term_evidence_ended_leaves_a_mark_that_stays(gateway, prefix):
    mine = HistoryEntry(identity=ME.identity, token=41, until="2026-01-01T00:00:09Z", reason="evidence")
    with registered(gateway, prefix) as (registration, key):
        eventually(lambda: kvs(gateway, key), within=5.0)
        tell_history(gateway, prefix, mine, HistoryEntry(identity="other", token=57, takeover="evidence"))
        assert registration.mark(41, refused=0, timeout=5.0)
        (kv,) = kvs(gateway, key)
        assert Candidate.parse(kv.value) == replace(ME, deposed_token=41)
        assert kv.lease, "it goes with it"
        gateway.lease_revoke(kv.lease, timeout=5.0)
        (again,) = eventually(lambda: kvs(gateway, key), within=5.0)
        assert Candidate.parse(again.value) == replace(ME, deposed_token=41)


def test_who_was_replaced_in_another_way_leaves_none(gateway, prefix):
    with registered(gateway, prefix) as (registration, key):
        eventually(lambda: kvs(gateway, key), within=5.0)
        assert not registration.mark(41, refused=0, timeout=5.0), "there is no history"
        expired = HistoryEntry(identity=ME.identity, token=41, until="2026-01-01T00:00:09Z", reason="expiry")
        deposed = HistoryEntry(identity="other", token=40, until="2026-01-01T00:00:01Z", reason="evidence")
        tell_history(gateway, prefix, deposed, expired)
        assert not registration.mark(41, refused=0, timeout=5.0)
        (kv,) = kvs(gateway, key)
        assert Candidate.parse(kv.value) == ME


def test_who_had_writes_refused_tells_how_many_though_its_etcd_lease_ran_out_while_it_stood_still(gateway, prefix):
    lock = LockName(prefix, "kube-system", "kube-scheduler")
    registration = Registration(gateway, lock, ME, lease_duration=60.0, clock=CLOCK)
    registration._beat(5.0)
    (first,) = kvs(gateway, lock.candidates + ME.identity)
    gateway.lease_revoke(first.lease, timeout=5.0)
    try:
        assert registration.mark(41, refused=3, timeout=5.0)
        (kv,) = kvs(gateway, lock.candidates + ME.identity)
        assert Candidate.parse(kv.value) == replace(ME, refused_writes=3)
        assert kv.lease not in (0, first.lease)
    finally:
        registration.revoke(timeout=5.0)
