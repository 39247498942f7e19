"""Two journals: slower by the ratio and by more than chance, or not, or too few trials to tell."""

from dataclasses import replace

import pytest

from chaos.journal.comparison import Outcome, compare, fewest
from chaos.journal.thresholds import METRICS
from tests.harness.journals import journal


def outcomes(before, after, ratio=1.2):
    found = compare(journal(before), journal(after), ratio=ratio)
    return {each.name: each.outcome for each in found.statistics}, found


FAST = [300.0 + each for each in range(12)]
SLOW = [600.0 + each for each in range(12)]


def test_twice_as_slow_is_a_regression():
    told, found = outcomes(FAST, SLOW)
    assert found.regressed
    assert told["failover_ms.p50"] is Outcome.REGRESSION
    assert "REGRESSION" in found.lines()[-1]


def test_twice_as_fast_is_none():
    told, found = outcomes(SLOW, FAST)
    assert not found.regressed
    assert told["failover_ms.p50"] is Outcome.FASTER


def test_slower_within_the_ratio_is_none():
    _, found = outcomes(FAST, [each * 1.15 for each in FAST])
    assert not found.regressed
    _, found = outcomes(FAST, [each * 1.15 for each in FAST], ratio=1.1)
    assert found.regressed


def test_one_straggler_can_not_be_told_from_chance():
    told, found = outcomes(FAST, [*FAST[:-1], 900.0])
    assert told["failover_ms.p99"] is Outcome.TOO_WEAK
    assert told["failover_ms.p50"] is Outcome.SAME
    assert not found.regressed
    assert any("too few to tell: " in note and "failover_ms.p99" in note for note in found.notes)


@pytest.mark.parametrize(("count", "regressed"), [(1, False), (2, False), (3, True)])
def test_three_trials_each_are_the_fewest_that_can_tell(count, regressed):
    _, found = outcomes(FAST[:count], SLOW[:count])
    assert found.regressed is regressed
    said = f"{count} and {count} trials can't tell anything from chance: it takes 3 each at least"
    assert any(note.startswith(said) for note in found.notes) is not regressed


def test_the_fewest_beside_so_many():
    assert [fewest(trials) for trials in (1, 2, 3, 19, 0)] == [19, 5, 3, 1, 0]


def test_what_was_not_measured_in_both_is_not_compared():
    _, found = outcomes(FAST, [None, None])
    assert found.statistics == ()
    assert any("nothing to compare" in note for note in found.notes)


@pytest.mark.parametrize(("before", "after", "where"), [(FAST, [None] * 12, "A"), ([None] * 12, FAST, "B")])
def test_what_only_one_of_the_two_measured_is_named(before, after, where):
    _, found = outcomes(before, after)
    assert {f"{metric} was measured in {where} alone: it can't be compared" for metric in METRICS} <= set(found.notes)


def test_what_is_not_measured_any_more_is_a_regression():
    before, after = journal(FAST), journal(FAST)
    after = replace(after, trials=tuple(_never_warm(each) for each in after.trials))
    found = compare(before, after, ratio=1.2)
    assert (found.regressed, found.document()["lost"]) == (True, ["warm_ms"])
    assert found.lines()[-1] == "REGRESSION: warm_ms (not measured in B)"
    assert not compare(after, before, ratio=1.2).regressed


@pytest.mark.parametrize("other", [{"scenario": "pause-leader"}, {"backend": "compose"}, {"subject": "shop"}])
def test_what_another_kind_of_run_does_not_measure_is_no_regression(other):
    found = compare(journal(FAST, subject="lockd"), journal([None], **{"subject": "lockd", **other}), ratio=1.2)
    assert (found.regressed, found.lost) == (False, ())
    assert any("was measured in A alone" in note for note in found.notes)


def _never_warm(trial):
    return replace(trial, phases=replace(trial.phases, warm_ms=None))


def test_what_differs_between_the_runs_is_said():
    other = journal(FAST, scenario="pause-leader", timing={"lease_duration": 15.0})
    found = compare(journal(FAST, timing={"lease_duration": 3.0}), other, ratio=1.2)
    assert "different scenarios: kill-leader and pause-leader" in found.notes
    assert "different timings: lease_duration=3 and lease_duration=15" in found.notes


def test_the_same_journals_are_judged_the_same():
    assert outcomes(FAST, SLOW)[1] == outcomes(FAST, SLOW)[1]


def test_from_nothing_to_something_is_a_ratio_without_a_number():
    found = compare(journal([5.0] * 5), journal([5.0] * 5), ratio=1.2)
    assert {each["outcome"] for each in found.document()["statistics"]} == {"within the ratio"}
    nothing = [each for each in found.document()["statistics"] if each["name"].startswith("detected")]
    assert {each["ratio"] for each in nothing} == {1.0}
