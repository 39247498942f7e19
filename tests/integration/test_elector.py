"""Electors on a real etcd: hand-offs, lost replies, foreign hands on the keys, members that go."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest

from lockd.election import Election
from lockd.errors import Unavailable
from lockd.etcd.embedded import Embedded
from lockd.ports import Compare, Delete, Field, KeyEvent, Put, Txn, View
from lockd.record import LeaderRecord, parse_history
from lockd.signals import Reply, StopReason
from tests.harness.electors import CLOCK, contest
from tests.harness.etcd import opened
from tests.harness.proxy import Proxies, Proxy
from tests.harness.wait import eventually

DEFAULTS = {"lease_duration": 15.0, "renew_deadline": 10.0, "retry_period": 2.0}


def one(gateway, key):
    return gateway.range(key, timeout=5.0).kvs[0]


def record_of(gateway, lock):
    return LeaderRecord.parse(one(gateway, lock.lease).value)


class Hung(Exception):
    """What a test's work raises."""


def test_a_release_hands_over_at_once_and_the_history_tells(etcd, gateway, prefix):
    with contest(prefix, **DEFAULTS) as race:
        first = race.enter("a", etcd.connection)
        old = first.wait_to_lead()
        second = race.enter("b", etcd.connection)
        eventually(lambda: second.elector.leader == "a", within=5.0)
        first.elector.request_stop()
        new = second.wait_to_lead(within=DEFAULTS["retry_period"])  # a lease would take 15 s
        stop = first.wait_to_end()
        assert (stop.reason, stop.led, stop.released, stop.exit_code) == (StopReason.ASKED, True, True, 0)
        assert new.token > old.token
        history = one(gateway, race.lock.history)
        terms = parse_history(history.value, history.mod_revision)
        assert [(t.identity, t.token, t.reason, t.takeover) for t in terms] == [
            ("a", old.token, "released", "first"),
            ("b", new.token, "", "release"),
        ]
        assert one(gateway, race.lock.term).mod_revision == new.token


def test_a_release_that_nobody_waits_for_any_more_frees_the_lock_after_a_renewal_too(
    etcd, gateway, prefix, monkeypatch
):
    """What etcd answers does not arrive, so whether the renewal came first is not known to the one that ends."""
    deaf, observe = threading.Event(), Election.observe

    def hear(election, seen, now):
        of_etcd = isinstance(seen, KeyEvent | View | Reply)
        return election if of_etcd and deaf.is_set() else observe(election, seen, now)

    monkeypatch.setattr(Election, "observe", hear)
    with contest(prefix, **DEFAULTS) as race:
        leader = race.enter("a", etcd.connection)
        leader.wait_to_lead()
        deaf.set()
        eventually(lambda: leader.elector.election.unsettled, within=30.0, what="a renewal is on its way")
        renewal = leader.elector.election.unsettled.transaction.record.renewal
        eventually(lambda: record_of(gateway, race.lock).renewal == renewal, within=30.0, what="it is committed")
        leader.elector.request_stop()
        stop = leader.wait_to_end()
        assert (stop.reason, stop.released) == (StopReason.ASKED, False)
        eventually(lambda: not record_of(gateway, race.lock).holder_identity, within=30.0, what="it is released")


def test_a_standby_that_never_led_ends_with_0_and_writes_nothing(etcd, gateway, prefix):
    with contest(prefix) as race:
        race.enter("a", etcd.connection).wait_to_lead()
        standby = race.enter("b", etcd.connection)
        eventually(lambda: standby.elector.leader == "a", within=5.0)
        term = one(gateway, race.lock.term)
        standby.elector.request_stop()
        stop = standby.wait_to_end()
        assert (stop.led, stop.exit_code) == (False, 0)
        assert one(gateway, race.lock.term) == term
        assert record_of(gateway, race.lock).holder_identity == "a"


def test_the_reply_of_a_committed_renewal_is_lost(etcd, gateway, prefix):
    with Proxy(etcd.members[0].endpoint) as proxy, contest(prefix) as race:
        connection = _through(etcd, proxy)
        leader = race.enter("a", connection)
        token = leader.wait_to_lead().token
        before = one(gateway, race.lock.lease).mod_revision
        lost = proxy.swallow(b'"renewTime"')
        assert lost.passed.wait(5.0)
        seen = len(leader.gates)
        proxy.heal()
        eventually(lambda: len(leader.gates) > seen + 2, within=5.0, what="renewals go on")
        assert leader.leads
        assert leader.elector.leadership.token == token
        assert one(gateway, race.lock.lease).mod_revision > before
        assert one(gateway, race.lock.term).mod_revision == token


def test_the_reply_of_a_committed_acquire_is_lost(etcd, gateway, prefix):
    with Proxy(etcd.members[0].endpoint) as proxy, contest(prefix) as race:
        lost = proxy.swallow(b'"acquisition"')
        leader = race.enter("a", _through(etcd, proxy))
        assert lost.passed.wait(5.0)
        revision = eventually(lambda: gateway.range(race.lock.term, timeout=5.0).kvs, within=5.0)[0].mod_revision
        proxy.heal()
        assert leader.wait_to_lead().token == revision
        assert record_of(gateway, race.lock).leader_transitions == 0


@pytest.mark.slow  # a connection that went deaf is given up after 7 s
@pytest.mark.parametrize("marker", [b'"acquisition"', b'"renewTime"'], ids=["acquire", "renewal"])
def test_replies_lost_again_and_again_start_no_second_term(etcd, gateway, prefix, marker):
    with Proxy(etcd.members[0].endpoint) as proxy, contest(prefix, **DEFAULTS) as race:
        proxy.swallow(marker, times=3)
        leader = race.enter("a", _through(etcd, proxy))
        token = leader.wait_to_lead(within=30.0).token
        eventually(lambda: len(leader.gates) > 2, within=20.0)
        assert one(gateway, race.lock.term).mod_revision == token


def test_a_foreign_record_ends_the_term_at_once_and_is_left_alone(etcd, gateway, prefix):
    with contest(prefix, **DEFAULTS) as race:
        leader = race.enter("a", etcd.connection)
        leader.wait_to_lead()
        foreign = LeaderRecord(holder_identity="intruder", lease_duration=15.0, renewal="x-1").encode()
        gateway.txn(Txn((), (Put(race.lock.lease, foreign),)), timeout=5.0)
        stop = leader.wait_to_end(within=DEFAULTS["retry_period"])  # client-go goes on until its renew deadline
        assert (stop.reason, stop.exit_code, stop.released) == (StopReason.OVERWRITTEN, 1, False)
        assert leader.led[0].lost.is_set()
        assert one(gateway, race.lock.lease).value == foreign


@pytest.mark.parametrize("which", ["lease", "term"])
def test_a_deleted_key_ends_the_term(etcd, gateway, prefix, which):
    with contest(prefix, **DEFAULTS) as race:
        leader = race.enter("a", etcd.connection)
        leader.wait_to_lead()
        gateway.txn(Txn((), (Delete(getattr(race.lock, which)),)), timeout=5.0)
        stop = leader.wait_to_end(within=DEFAULTS["retry_period"] * 2)
        assert (stop.reason, stop.exit_code) == (StopReason.DELETED, 1)


def test_garbage_in_the_lease_key_is_held_by_nobody_known(etcd, gateway, prefix):
    with contest(prefix) as race:
        gateway.txn(Txn((), (Put(race.lock.lease, b"{not json"),)), timeout=5.0)
        seen = CLOCK.now()
        leader = race.enter("a", etcd.connection)
        leader.wait_to_lead(within=10.0)
        assert leader.led[0].deadline - race.durations["renew_deadline"] >= seen + race.durations["lease_duration"]


def test_a_member_that_goes_costs_no_term(trio, prefix):
    with contest(prefix, **DEFAULTS) as race:
        leader = race.enter("a", trio.connection, first=0)
        token = leader.wait_to_lead().token
        trio.members[0].kill()
        seen = len(leader.gates)
        eventually(lambda: len(leader.gates) > seen + 2, within=10.0, what="renewals go on")
        assert leader.leads
        assert leader.elector.leadership.token == token


def test_the_etcd_leader_goes_and_the_term_stays(trio, prefix):
    with contest(prefix, **DEFAULTS) as race:
        leader = race.enter("a", trio.connection)
        token = leader.wait_to_lead().token
        trio.leader().kill()
        seen = len(leader.gates)
        eventually(lambda: len(leader.gates) > seen + 1, within=10.0, what="renewals go on")
        assert leader.leads
        assert leader.elector.leadership.token == token


def test_quorum_lost_for_4_seconds_changes_no_leader(trio, prefix):
    """Members that go on elect anew: it takes them a second or three, and now and then all that the deadline leaves.

    Then the leader ends, as it must, and it is tried again.
    """
    assert any(stays_while_quorum_is_lost(trio, f"{prefix}-{episode}") for episode in range(5)), "etcd is never back"


def stays_while_quorum_is_lost(trio, prefix):
    """Whether etcd answered again in time for the leader's next renewals; if so, nothing has changed."""
    with contest(prefix, **DEFAULTS) as race, opened(trio.connection) as gateway:
        leader = race.enter("a", trio.connection)
        leadership = leader.wait_to_lead()
        other = race.enter("b", trio.connection)
        eventually(lambda: other.elector.leader == "a", within=5.0)
        hurt = [member for member in trio.members if member is not trio.leader()]
        for member in hurt:
            member.pause()
        CLOCK.wait(leader.ended, 4.0)
        for member in hurt:
            member.resume()
        seen = len(leader.gates)
        eventually(lambda: answers(gateway), within=60.0, what="etcd answers")
        if CLOCK.now() > leadership.deadline - 2 * DEFAULTS["retry_period"]:
            if leader.ended.is_set():
                assert (leader.stop.reason, leader.stop.exit_code) == (StopReason.DEADLINE, 1)
                assert leader.lost_at >= leadership.deadline
            return False
        eventually(lambda: len(leader.gates) > seen + 1, within=10.0, what="renewals go on")
        assert leader.leads
        assert leader.elector.leadership is leadership
        assert not other.led
        return True


def answers(gateway):
    """Is there a quorum that answers a linearizable read?"""
    try:
        gateway.range("/any", timeout=0.5)
    except Unavailable:
        return False
    return True


def test_a_replica_that_is_cut_off_stops_at_its_gate(trio, prefix):
    with Proxies(trio) as proxies, contest(prefix) as race:
        leader = race.enter("a", proxies.connection)
        leader.wait_to_lead()
        standby = race.enter("b", trio.connection)
        eventually(lambda: standby.elector.leader == "a", within=5.0)
        for proxy in proxies.each:
            proxy.black_hole()
        stop = leader.wait_to_end()
        gate = leader.gates[-1]
        assert (stop.reason, stop.exit_code, stop.released) == (StopReason.DEADLINE, 1, False)
        assert gate <= leader.lost_at <= gate + leader.elector.config.exit_seconds
        follower = standby.wait_to_lead()
        assert follower.deadline - race.durations["renew_deadline"] >= gate


def test_work_that_raises_young_is_not_handed_on(etcd, gateway, prefix):
    def work(_):
        raise Hung

    with contest(prefix) as race:
        leader = race.enter("a", etcd.connection, work)
        stop = leader.wait_to_end()
        assert (stop.reason, stop.exit_code, stop.released) == (StopReason.WORK_RAISED, 1, False)
        assert record_of(gateway, race.lock).holder_identity == "a"


def test_work_that_returns_ends_the_term_and_releases(etcd, gateway, prefix):
    with contest(prefix) as race:
        leader = race.enter("a", etcd.connection, lambda _: None)
        stop = leader.wait_to_end()
        assert (stop.reason, stop.exit_code, stop.released) == (StopReason.WORK_RETURNED, 1, True)
        assert record_of(gateway, race.lock).holder_identity == ""


def test_work_that_hangs_is_replaced(etcd, prefix):
    def work(leadership):
        CLOCK.wait(leadership.lost, 60.0)

    with contest(prefix) as race:
        leader = race.enter("a", etcd.connection, work, work_timeout=4.0)
        leader.wait_to_lead()
        standby = race.enter("b", etcd.connection)
        stop = leader.wait_to_end(within=15.0)
        assert (stop.reason, stop.exit_code, stop.released) == (StopReason.WORK_HUNG, 1, True)  # older than a lease
        standby.wait_to_lead(within=race.durations["lease_duration"])


def test_a_switchover_ends_the_named_term_for_the_named_candidate(etcd, gateway, prefix):
    with contest(prefix, **DEFAULTS) as race:
        leader = race.enter("a", etcd.connection)
        token = leader.wait_to_lead().token
        others = [race.enter(name, etcd.connection) for name in ("b", "c")]
        for other in others:
            key = race.lock.candidates + other.identity
            gateway.txn(Txn((), (Put(key, json.dumps({"identity": other.identity}).encode()),)), timeout=5.0)
        eventually(lambda: all(o.elector.election.observed.candidates == {"b", "c"} for o in others), within=5.0)
        wish = json.dumps({"candidate": "c", "token": int(token)}).encode()
        gateway.txn(Txn((), (Put(race.lock.switchover, wish),)), timeout=5.0)
        stop = leader.wait_to_end(within=5.0)
        assert (stop.reason, stop.exit_code, stop.released) == (StopReason.SWITCHOVER, 0, True)
        others[1].wait_to_lead()
        assert not others[0].led
        assert record_of(gateway, race.lock).preferred_holder == ""


def test_a_deposed_leader_is_refused_by_etcd(etcd, gateway, prefix):
    """The guard, as it goes out after a pause: the term key has moved on."""
    with contest(prefix, **DEFAULTS) as race:
        leader = race.enter("a", etcd.connection)
        old = leader.wait_to_lead().guard
        leader.elector.request_stop()
        leader.wait_to_end()
        race.enter("b", etcd.connection).wait_to_lead()
        late = Txn(old.compares(), (Put(f"{prefix}/pods/default/x", b"late"),))
        assert not gateway.txn(late, timeout=5.0).succeeded


def test_compaction_under_the_watch_is_survived(prefix):
    with Embedded.start() as own, opened(own.connection) as gateway, contest(prefix) as race:
        leader = race.enter("a", own.connection)
        leader.wait_to_lead()
        standby = race.enter("b", own.connection)
        eventually(lambda: standby.elector.leader == "a", within=5.0)
        gateway.compact(one(gateway, race.lock.lease).mod_revision, timeout=5.0)
        leader.elector.request_stop()
        standby.wait_to_lead(within=race.durations["retry_period"] * 4)


def test_a_lease_of_the_record_counts_not_one_s_own(etcd, gateway, prefix):
    with contest(prefix) as race:
        record = LeaderRecord(holder_identity="gone", lease_duration=1.0, renewal="gone-1").encode()
        absent = Compare(race.lock.lease, Field.MOD, 0)
        gateway.txn(Txn((absent,), (Put(race.lock.lease, record),)), timeout=5.0)
        leader = race.enter("a", etcd.connection, lease_duration=30.0, renew_deadline=20.0)
        leader.wait_to_lead(within=5.0)
        assert record_of(gateway, race.lock).leader_transitions == 1


def _through(etcd, proxy):
    return replace(etcd.connection, endpoints=(proxy.endpoint,))
