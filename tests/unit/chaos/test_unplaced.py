"""Pods left pending, held against every node once more."""

from __future__ import annotations

import pytest

from chaos.checks import judge
from chaos.ledger import Ledger
from chaos.record import Record
from chaos.report import Report
from chaos.unplaced import unplaced
from tests.harness.history import HistoryMaker

REFUSED = "0/2 nodes are available: 2 Insufficient cpu."


@pytest.fixture
def made():
    """Two nodes of two cores, one of them full; A leads."""
    made = HistoryMaker()
    made.node("n1", cpu="2")
    made.node("n2", cpu="2")
    made.token = made.acquire("A")
    made.bind("p1", "n1", cpu="2")
    made.bind("p2", "n2", cpu="1")
    return made


def of(made):
    return unplaced(Ledger.of(made.history()))


def test_room_that_is_promised_to_who_matters_more_is_not_there(made):
    made.preempt("big", "p2", node="n2", priority=5)
    made.pod("small", cpu="1", token=made.token, refused=REFUSED, priority=4)
    made.pod("urgent", cpu="1", token=made.token, refused=REFUSED, priority=6)
    assert {each.pod.key.rpartition("/")[2]: each.verdict.fits for each in of(made)} == {
        "big": "n2",
        "small": "",
        "urgent": "n2",
    }


def test_a_pod_that_no_node_takes(made):
    made.pod("big", cpu="2", token=made.token, refused=REFUSED)
    (found,) = of(made)
    assert (found.pod.key, found.message, found.verdict.fits) == ("pods/default/big", REFUSED, "")
    assert found.verdict.reasons == {"Insufficient cpu": 2}
    assert judge(Record(ledger=Ledger.of(made.history()))) == ()


def test_a_pod_that_a_node_takes_waits_needlessly(made):
    made.pod("small", cpu="1", token=made.token, refused=REFUSED)
    (violation,) = judge(Record(ledger=Ledger.of(made.history())))
    assert (violation.check, violation.key) == ("needless-wait", "pods/default/small")
    assert (violation.token, violation.term_token) == (made.token, made.token)
    assert violation.message == f'is pending ("{REFUSED}"), and n2 would take it'


def test_the_nodes_are_taken_as_they_stand_at_the_end(made):
    made.pod("big", cpu="2", token=made.token, refused=REFUSED)
    made.delete("pods/default/p1")
    assert [each.verdict.fits for each in of(made)] == ["n1"]
    made.delete("nodes/n1")
    assert [each.verdict.fits for each in of(made)] == [""]


def test_pods_that_want_nothing_of_us_are_not_judged(made):
    made.pod("gated", gate="wait")
    made.pod("foreign", scheduler="another")
    assert [each.verdict.unjudged for each in of(made)] == ["scheduling gates", "another scheduler's"]
    assert judge(Record(ledger=Ledger.of(made.history()))) == ()


SKEWED = "0/2 nodes are available: 2 node(s) didn't match pod topology spread constraints."
OWN = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}


@pytest.mark.parametrize(
    ("fields", "refused", "unjudged"),
    [
        ({"owner": "r"}, SKEWED, "the default spread constraints of its profile"),
        ({}, SKEWED, ""),
        ({"owner": "r"}, REFUSED, ""),
        ({"owner": "r", "spread": [OWN]}, SKEWED, ""),
    ],
)
def test_constraints_of_a_profile_are_not_judged(made, fields, refused, unjudged):
    made.pod("small", cpu="1", token=made.token, refused=refused, **fields)
    (found,) = of(made)
    assert (found.verdict.fits, found.verdict.unjudged) == ("" if unjudged else "n2", unjudged)


def test_who_finds_no_node_anyway_is_judged(made):
    made.pod("big", cpu="2", token=made.token, refused=SKEWED, owner="r")
    assert [each.verdict.unjudged for each in of(made)] == [""]


def test_the_report_tells_each(made):
    made.pod("big", cpu="2", token=made.token, refused=REFUSED)
    made.pod("gated", gate="wait")
    ledger = Ledger.of(made.history())
    report = Report.of(ledger, judge(Record(ledger=ledger)))
    assert report.document()["unplaced"][0] == {
        "key": "/lockd/pods/default/big",
        "message": REFUSED,
        "reasons": {"Insufficient cpu": 2},
        "fits": None,
        "unjudged": None,
    }
    assert "of the pending no node takes 1, some node 0; 1 not judged" in "\n".join(report.lines())
