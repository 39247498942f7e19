import pytest

from chaos.handoff import ACQUIRE, ANCHOR, BARRIER, BIND, FAULT, LOST, RELEASE, RENEW, handoffs, lines
from chaos.spans import Span
from tests.harness.terms import NEW, OLD, OTHER, new_term, old_term


def phases_of(spans):
    (handoff,) = handoffs(spans)
    return handoff, {name: round(seconds * 1e3, 3) for name, seconds in handoff.phases.items()}


def test_a_killed_leader_counts_from_the_fault():
    fault = Span(name=FAULT, start=105.0, end=105.0, attributes={"target": OLD, "fault": "kill"})
    handoff, phases = phases_of([*new_term(107.0), fault, *old_term()])
    assert (handoff.predecessor, handoff.successor, handoff.token, handoff.cause) == (OLD, NEW, 9, "fault")
    assert phases == {"detection": 2000.0, "election": 3.0, "warm_up": 7.0, "first_bind": 10.0, "total": 2020.0}


def test_without_a_known_fault_the_last_renewal_was_the_last_sign_of_life():
    handoff, phases = phases_of([*old_term(), *new_term(107.0)])
    assert handoff.cause == "silence"
    assert phases["detection"] == pytest.approx(2990.0)


def test_a_release_is_where_an_orderly_hand_off_begins():
    release = Span(name=RELEASE, start=106.0, end=106.002, instance=OLD)
    handoff, phases = phases_of([*old_term(), release, *new_term(106.001)])
    assert handoff.cause == "release"
    assert phases["detection"] == 1.0


def test_a_lost_lease_is_where_it_begins_when_nothing_was_released():
    lost = Span(name=LOST, start=106.5, end=106.5, instance=OLD, attributes={"reason": "deadline"})
    handoff, phases = phases_of([*old_term(), lost, *new_term(107.0)])
    assert (handoff.cause, phases["detection"]) == ("lost", 500.0)


def test_a_fault_on_somebody_else_changes_nothing():
    fault = Span(name=FAULT, start=105.0, end=105.0, attributes={"target": OTHER})
    handoff, _ = phases_of([*old_term(), fault, *new_term(107.0)])
    assert handoff.cause == "silence"


def test_what_was_not_seen_is_none():
    spans = [span for span in [*old_term(), *new_term(107.0)] if not (span.instance == NEW and span.name == BIND)]
    (handoff,) = handoffs(spans)
    assert handoff.phases["warm_up"] is not None
    assert (handoff.phases["first_bind"], handoff.phases["total"]) == (None, None)
    assert handoff.document()["phases_ms"]["total"] is None


def test_a_batch_that_was_refused_is_no_first_bind():
    spans = [*old_term(), *new_term(107.0)]
    spans[-2].attributes["outcome"] = "fenced"
    _, phases = phases_of(spans)
    assert phases["first_bind"] == 20.0


def test_the_first_term_of_all_is_no_hand_off():
    assert handoffs(old_term()) == ()


def test_each_hand_off_of_a_chain_is_found_in_order():
    third = [
        Span(name=ACQUIRE, start=112.0, end=112.1, instance=OTHER),
        Span(name=ANCHOR, start=112.1, end=112.1, instance=OTHER, span_id="a3", links=("a2",)),
    ]
    found = handoffs([*third, *old_term(), *new_term(107.0)])
    assert [(each.predecessor, each.successor) for each in found] == [(OLD, NEW), (NEW, OTHER)]


def test_the_timeline_shows_losing_candidates_but_nothing_of_the_terms_before_and_after():
    loser = Span(name=ACQUIRE, start=107.0005, end=107.005, instance=OTHER, attributes={"outcome": "conflict"})
    (handoff,) = handoffs([*old_term(), loser, *new_term(107.0)])
    assert [(step.what, step.identity) for step in handoff.steps] == [
        (ANCHOR, OLD),
        (RENEW, OLD),
        (ACQUIRE, NEW),
        (ACQUIRE, OTHER),
        (ANCHOR, NEW),
        (BARRIER, NEW),
        (BIND, NEW),
    ]
    text = "\n".join(lines(handoff, 1))
    assert "outcome conflict" in text
    assert "detection 2990.0 ms" in text
