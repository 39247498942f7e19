"""Phases out of a history made by hand, its stamps, and what the successor told."""

import pytest

from chaos.effect import Effect
from chaos.faults.registry import FAULTS
from chaos.history import Stamp
from chaos.ledger import Ledger
from chaos.measure.phases import Phases, moments, phases_of, successions
from chaos.record import Account, Action, Record
from chaos.spans import Span
from tests.harness.history import HistoryMaker


def action(identity, at, effect=Effect.KILL):
    return Action(fault=effect.value, effect=effect, target=identity.lower(), identity=identity, at=at)


def record(made, *actions, accounts=(), seen=100):
    """Revision r was seen at second r, as far as `seen`."""
    ledger = Ledger.of(made.history())
    stamps = {revision: Stamp(float(revision), 1000.0 + revision) for revision in range(1, seen)}
    return Record(ledger=ledger, stamps=stamps, actions=actions, accounts=accounts)


@pytest.fixture
def made():
    made = HistoryMaker()
    made.node("n1")  # 2
    made.pod("p1")  # 3
    made.acquire("A")  # 4
    made.bind("p1", "n1")  # 5
    return made


def test_a_release_is_seen_before_the_next_acquire(made):
    made.release()  # 6
    made.acquire("X", lock="other/lock")  # 7
    token = made.acquire("B")  # 8
    made.pod("p1", node="n1", token=token, cpu="2")  # 9: no bind, it had its node
    made.pod("p2")  # 10
    made.bind("p2", "n1")  # 11
    (seen,) = successions(record(made, action("A", 5.5, Effect.STOP)))
    assert (seen.new.identity, seen.new.token) == ("B", token)
    assert (seen.released, seen.phases.elected, seen.phases.first_bind) == (0.5, 2.5, 5.5)


def test_a_killed_leader_releases_nothing(made):
    made.acquire("B")  # 6
    (seen,) = successions(record(made, action("A", 5.0)))
    assert (seen.released, seen.phases.elected, seen.phases.first_bind) == (None, 1.0, None)


def test_without_a_hand_off_nothing_was_reached(made):
    assert phases_of(record(made, action("A", 5.0))) == Phases()


def test_the_last_fault_aimed_at_the_holder_counts_before_any_other(made):
    made.acquire("B")  # 6
    kill, stop = action("A", 4.5), action("A", 5.0, Effect.STOP)
    others = action("C", 5.5), action("etcd-1", 5.8, Effect.STORE)
    (seen,) = successions(record(made, kill, stop, *others))
    assert seen.action is stop


def test_what_the_holder_depends_on_counts_where_nothing_was_aimed_at_it(made):
    made.acquire("B")  # 6
    hurt = action("etcd-1", 4.5, Effect.STORE)
    (seen,) = successions(record(made, hurt, action("C", 5.0)))
    assert seen.action is hurt
    assert successions(record(made, action("C", 5.0))) == ()


def test_the_successor_tells_what_only_it_knows(made):
    token = made.acquire("B")  # 6
    made.pod("p2")  # 7
    made.bind("p2", "n1")  # 8
    told = (
        Span(name="leader_election.acquire", start=5.5, end=5.6, attributes={"outcome": "conflict"}),
        Span(name="leader_election.acquire", start=5.7, end=5.9, attributes={"outcome": "acquired"}),
        Span(
            name="leader_election.started_leading",
            start=5.9,
            end=5.9,
            attributes={"token": token, "takeover": "expiry"},
        ),
        Span(name="scheduler.cache_barrier", start=6.0, end=6.1, attributes={"token": token, "passed": False}),
        Span(name="scheduler.cache_barrier", start=6.1, end=6.5, attributes={"token": token, "passed": True}),
    )
    account = Account(identity="B", spans=told, error=0.01)
    (seen,) = successions(record(made, action("A", 5.0), accounts=(account,)))
    assert seen.takeover == "expiry"
    phases = seen.phases
    # the reply was there before the watch brought it
    assert [phases.detected, phases.elected, phases.warm] == pytest.approx([0.7, 0.9, 1.5])
    assert (phases.first_bind, phases.error) == (3.0, 0.01)
    assert phases.document() == {"detected_ms": 700.0, "elected_ms": 900.0, "warm_ms": 1500.0, "first_bind_ms": 3000.0}


def test_moments_count_from_the_first_term(made):
    made.release()  # 6
    made.acquire("B")  # 7
    made.revision = 199
    made.acquire("C")  # 200: the watch has not brought it
    assert moments(record(made)) == {4: 0.0, 6: 2.0, 7: 3.0}


def test_each_fault_has_an_effect_that_judges_know():
    told = {name: Effect.of(name) for name in FAULTS}
    assert [name for name, effect in told.items() if effect is Effect.OTHER] == ["hang-collector"]
    assert Effect.of("kill", on_etcd=True) is Effect.STORE
