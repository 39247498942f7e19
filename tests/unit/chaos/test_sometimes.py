"""Rare conditions are counted where they were seen, and missed where they were not."""

import pytest

from chaos.checks.sometimes import SOMETIMES, never, seen
from chaos.record import LogLine
from tests.harness.history import HistoryMaker
from tests.harness.records import account, operation, record, span, term


@pytest.fixture
def made():
    made = HistoryMaker()
    made.node("n1")  # 2
    made.acquire("A")  # 3
    made.acquire("B")  # 4
    return made


def counted(made, **fields):
    return {name: count for name, count in seen([record(made, **fields)]).items() if count}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("takeover-by-release", span("leader_election.started_leading", 4.0, 4.0, token=4, takeover="release")),
        ("takeover-by-evidence", span("leader_election.started_leading", 4.0, 4.0, token=4, takeover="evidence")),
        ("takeover-by-expiry", span("leader_election.started_leading", 4.0, 4.0, token=4, takeover="expiry")),
        ("acquire-conflict", span("leader_election.acquire", 4.0, 4.0, outcome="conflict")),
        ("renewal-resent", span("leader_election.renew", 4.0, 4.0, outcome="renewed", copies=2)),
        ("renewal-lost", span("leader_election.renew", 4.0, 4.0, outcome="lost", copies=1)),
        ("release-given-up", span("leader_election.release", 4.0, 4.0, outcome="given up")),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_a_trace_tells(made, name, told):
    assert counted(made, accounts=(account("B", told),)) == {name: 1}


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("bind-refused", "bind refused: the term is over"),
        ("write-refused", "write refused: the term is over"),
        ("caches-waited", "caches behind the term: watching anew"),
        ("listed-anew", "listing anew"),
        ("etcd-silent", "etcd does not answer the election"),
    ],
)
def test_what_a_log_tells(made, name, event):
    line = LogLine(at=4.0, level="INFO", event=event)
    assert counted(made, accounts=(account("B", lines=(line, line)),)) == {name: 2}


def test_who_was_deposed_while_it_lived_tells_by_what(made):
    def line(evidence):
        return LogLine(
            at=4.0, level="INFO", event="deposed while alive: mark left", fields={"evidence": evidence, "refused": 1}
        )

    assert counted(made, accounts=(account("B", lines=(line(True), line(False))),)) == {"deposed-alive": 1}


def test_who_believed_when_another_term_had_begun(made):
    late, early = account("A", term(3, began=3.0, lost=4.5)), account("A", term(3, began=3.0, lost=3.9))
    assert "believed-late" in counted(made, accounts=(late,))
    assert "believed-late" not in counted(made, accounts=(early,))


def test_outcomes_that_nobody_told_are_settled_from_history(made):
    done = (operation(1.0, None, None, mark="uid-n1"), operation(1.0, None, None, mark="uid-never"))
    assert counted(made, operations=done) == {"unknown-applied": 1, "unknown-lost": 1}
    assert counted(made, operations=(operation(1.0, 3.0, 2, mark="uid-n1"),)) == {}


def test_what_a_scenario_wants_and_no_trial_showed_is_told():
    counts = dict.fromkeys(SOMETIMES, 0) | {"listed-anew": 3}
    assert never(["listed-anew"], counts) == ()
    assert never(["bind-refused", "listed-anew"], counts) == (
        "bind-refused was never seen: a bind came after its term",
    )
    with pytest.raises(KeyError):
        never(["no such thing"], counts)


def test_counts_add_up_over_trials(made):
    told = account("B", span("leader_election.acquire", 4.0, 4.0, outcome="conflict"))
    assert seen([record(made, accounts=(told,))] * 3)["acquire-conflict"] == 3
