from pathlib import Path

import pytest

from chaos import summary
from chaos.checks import judge
from chaos.demo import Outcome
from chaos.effect import Effect
from chaos.handoff import handoffs
from chaos.ledger import Ledger
from chaos.measure.phases import Phases, Succession
from chaos.record import Action, Record
from chaos.report import Report
from tests.harness.history import HistoryMaker
from tests.harness.terms import NEW, OLD, new_term, old_term


@pytest.fixture
def outcome():
    made = HistoryMaker()
    made.node("n1")
    made.pod("web-1")
    old = made.acquire(OLD)
    made.bind("web-1", "n1")
    new = made.acquire(NEW)
    ledger = Ledger.of(made.history())
    spans = [*old_term(), *new_term(107.0)]
    spans[-4].attributes["token"] = new
    killed = Action(fault="kill -9", effect=Effect.KILL, target="replica-1", identity=OLD, at=0.0)
    terms = ledger.terms.by_token
    return Outcome(
        report=Report.of(ledger, judge(Record(ledger=ledger))),
        observed=(
            Succession(
                action=killed,
                old=terms[old],
                new=terms[new],
                takeover="",
                released=None,
                phases=Phases(elected=2.5),
            ),
        ),
        handoffs=handoffs(spans),
        placement={"default/web-1": "n1", "default/web-2": "n1", "default/api-1": ""},
        names={OLD: "replica-1", NEW: "replica-2"},
        moments={old: 0.0, new: 12.5},
    )


def test_people_see_who_led_how_long_it_took_and_where_the_trace_is(outcome):
    lines = summary.lines(outcome, Path("/d"))
    rows = {line.split()[0]: line.split() for line in lines if line}
    assert rows["4"] == ["4", "replica-1", "+0.000", "s", "+12.500", "s", OLD]
    assert rows["6"] == ["6", "replica-2", "+12.500", "s", "now", NEW]
    assert rows["kill"][2:8] == ["replica-1", "replica-2", "2990.0", "ms", "3.0", "ms"]
    assert rows["kill"][-3:] == ["-", "2500.0", "ms"]
    assert rows["n1"] == ["n1", "2", "0", "2"]
    assert rows["(none)"] == ["(none)", "1", "1", "0"]
    assert "Audit of etcd's history: PASSED: no violation" in lines
    assert lines[-1] == "Traces: /d/trace (see them with: chaosctl trace /d)"


def test_machines_see_the_same(outcome):
    document = summary.document(outcome, Path("/d"))
    (handoff,) = document["handoffs"]
    assert (handoff["fault"], handoff["from"], handoff["to"], handoff["held_ms"]) == ("kill -9", OLD, NEW, 2500.0)
    assert handoff["phases_ms"]["detection"] == 2990.0
    assert document["audit"]["violations"] == []


def test_a_hand_off_without_a_trace_is_shown_all_the_same(outcome):
    bare = Outcome(**{name: getattr(outcome, name) for name in outcome.__slots__} | {"handoffs": ()})
    assert any(line.startswith("kill -9") for line in summary.lines(bare, Path("/d")))
    assert summary.document(bare, Path("/d"))["handoffs"][0]["phases_ms"] is None
