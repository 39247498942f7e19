"""A failover, taken apart out of a record."""

import json
from types import SimpleNamespace

import pytest

from chaos.cluster.interface import Target
from chaos.handoff import BARRIER
from chaos.ledger import Ledger
from chaos.pytest.failover import failover
from chaos.pytest.leading import takeovers
from chaos.record import LOCK
from lockd.record import HistoryEntry, encode_history
from tests.harness import records
from tests.harness.history import HistoryMaker
from tests.harness.records import account, span, stamps

OLD, NEW = Target("replica-A", "A", 1, 1, "http://a"), Target("replica-B", "B", 2, 1, "http://b")


def injury(fault="kill", *targets, at):
    return SimpleNamespace(
        fault=fault, targets=targets, at=at, wall=0.0, proof="seen", healed_at=None, healing="", parameters={}
    )


@pytest.fixture
def made():
    """Revision r was seen at second r: A leads from 2 on, B from 6 on."""
    made = HistoryMaker()
    made.acquire("A")
    made.node("n1")
    made.pod("p1")
    made.renew("A")
    made.token = made.acquire("B")
    made.bind("p1", "n1")
    return made


def found(made, done, *told, served=None):
    return failover(
        done,
        OLD,
        NEW,
        served=served,
        lock=LOCK,
        ledger=Ledger.of(made.history()),
        stamps=stamps(made.revision),
        told=told,
    )


def test_each_phase_counts_from_the_fault(made):
    told = account(
        "B",
        records.term(made.token, began=5.9, takeover="evidence"),
        span(BARRIER, 6.1, 6.4, token=made.token, passed=True),
    )
    found_ = found(made, injury("kill", OLD, at=5.5), told, served=6.75)
    assert found_.phases() == {
        "detected": pytest.approx(0.39),
        "elected": pytest.approx(0.4),
        "warm": pytest.approx(0.9),
        "first_bind": pytest.approx(1.5),
        "served": pytest.approx(1.25),
    }
    assert (found_.fault, found_.old, found_.new, found_.token) == ("kill", OLD, NEW, made.token)
    assert found_.error == 0.001


def test_who_tells_nothing_of_itself_is_measured_by_the_watch(made):
    assert found(made, injury("kill", OLD, at=5.5)).phases() == {"elected": 0.5, "first_bind": 1.5}


def test_a_release_is_told(made):
    made.release()
    made.acquire("A")
    done = failover(
        injury("terminate", NEW, at=7.5),
        NEW,
        OLD,
        served=None,
        lock=LOCK,
        ledger=Ledger.of(made.history()),
        stamps=stamps(made.revision),
        told=(),
    )
    assert done.phases() == {"released": 0.5, "elected": 1.5}


def test_of_a_fault_that_may_have_had_nothing_to_do_with_it_the_election_alone_is_told(made):
    assert found(made, injury("kill", Target("replica-C", "C", 3, 1, ""), at=5.5)).phases() == {"elected": 0.5}


def test_a_leader_whom_the_history_does_not_know_yet(made):
    done = failover(
        injury("kill", OLD, at=5.5),
        OLD,
        Target("replica-C", "C", 3, 1, ""),
        served=6.0,
        lock=LOCK,
        ledger=Ledger.of(made.history()),
        stamps=stamps(made.revision),
        told=(),
    )
    assert (done.token, done.takeover, done.phases()) == (0, "", {"served": 0.5})


def test_it_is_told_to_people_and_to_machines(made):
    done = found(made, injury("kill", OLD, at=5.5), served=6.0)
    assert str(done) == "kill of replica-A, then replica-B by : elected 500.0 ms, first_bind 1500.0 ms, served 500.0 ms"
    assert json.loads(json.dumps(done.document()))["new"]["name"] == "replica-B"


def test_how_a_term_began_is_what_its_holder_put_beside_it():
    made = HistoryMaker()
    first = made.commit({f"history/{LOCK}": encode_history((HistoryEntry(identity="A", takeover="first"),))})
    entries = (
        HistoryEntry(identity="A", token=first, takeover="first", reason="evidence"),
        HistoryEntry(identity="B", takeover="evidence"),
    )
    second = made.commit({f"history/{LOCK}": encode_history(entries)})
    released = (*entries[:1], HistoryEntry(identity="B", token=second, takeover="evidence", reason="released"))
    made.commit({f"history/{LOCK}": encode_history(released)})
    assert takeovers(made.history()) == {first: "first", second: "evidence"}
