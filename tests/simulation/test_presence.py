"""Whole clusters that take over by evidence, true and false: what it may break (beliefs), and what not (S1, S2)."""

from __future__ import annotations

from random import Random

import pytest

from lockd import candidacy
from lockd.record import parse_history
from tests.harness.lock_store import LOCK
from tests.simulation.test_timed import (
    APART,
    AWAY,
    DEADLINE,
    EVERYTHING,
    HOSTS,
    LEASE,
    PERIOD,
    TICK,
    TOLERATED,
    assert_apart,
    far_apart,
    longest_gap,
    rates,
)
from tests.simulation.timed import Timed
from tests.simulation.weather import CALM, STORM, Fault, Kind, Script

HOUR = 3600.0
FALSE = (*EVERYTHING, Kind.RESET, Kind.RESET, Kind.RESET)
ALIVE_OR_DEAD = (*APART, Kind.KILL, Kind.TERM)
"""What is never taken for the end of a process that lives."""


def storm(seed: int, kinds: tuple[Kind, ...], *, quotient: float = TOLERATED) -> Timed:
    random = Random(f"presence {seed}")
    script = Script.draw(random, kinds, until=110.0, gap=(2.0, 20.0), hosts=HOSTS)
    return Timed(seed, rates=rates(random, quotient), weather=STORM, script=script, until=120.0, presence=True).run()


def takeovers(run: Timed) -> list[str]:
    """How each term began, in order."""
    return [term.takeover for term in parse_history(run.store.value(LOCK.history), 1)]


@pytest.mark.parametrize("block", range(2))
def test_p9_evidence_true_and_false_breaks_no_write_and_no_record(block):
    """S1, S2 and growing tokens are asserted while it runs, whatever the evidence says of whom."""
    runs = [storm(seed, FALSE) for seed in range(block * 8, block * 8 + 8)]
    assert any("evidence" in takeovers(run) for run in runs), "or there was none"
    assert any(run.overlaps() for run in runs), "or it was never false"
    assert sum(run.led() for run in runs) > 0.7 * len(runs)


@pytest.mark.parametrize("block", range(2))
def test_p9_where_none_is_false_beliefs_do_not_overlap_either(block):
    runs = [storm(seed, ALIVE_OR_DEAD) for seed in range(100 + block * 8, 108 + block * 8)]
    for run in runs:
        assert_apart(run)
    assert any("evidence" in takeovers(run) for run in runs), "or there was none"


def calm(seed: int, faults: list[Fault], *, until: float, hosts: int = HOSTS) -> Timed:
    return Timed(seed, rates=(1.0,) * hosts, script=Script(tuple(faults)), until=until, presence=True).run()


def test_p9_a_killed_leader_is_replaced_within_a_few_messages():
    """Its last renewal may have come just before: then it takes a second swap."""
    for seed in range(12):
        faults = far_apart(Random(seed), Kind.KILL)
        run = calm(seed, faults, until=faults[-1].at + LEASE)
        assert takeovers(run) == ["first", "evidence", "evidence", "evidence"]
        assert longest_gap(run) <= CALM.watch[1] + 2 * AWAY + 2 * TICK, run.told("a slow hand-off")


def test_p9_a_stopped_leader_is_replaced_at_the_end_of_its_lease():
    for seed in range(10):
        faults = [Fault(fault.at, Kind.PAUSE, fault.slot, 20.0) for fault in far_apart(Random(seed), Kind.PAUSE)]
        run = calm(seed, faults, until=faults[-1].at + 2 * LEASE)
        assert_apart(run)
        assert takeovers(run) == ["first", "expiry", "expiry", "expiry"]
        assert longest_gap(run) <= LEASE - DEADLINE + PERIOD + CALM.watch[1] + AWAY + TICK


def test_p9_a_release_is_no_evidence():
    for seed in range(6):
        faults = far_apart(Random(seed), Kind.TERM)
        run = calm(seed, faults, until=faults[-1].at + LEASE)
        assert takeovers(run) == ["first", "release", "release", "release"]


def duel(seed: int, every: float, *, until: float = HOUR) -> Timed:
    """Time in which all presence connections break, so often."""
    faults = [Fault(at * every, Kind.RESET) for at in range(1, int(until / every))]
    return calm(seed, faults, until=until, hosts=3)


@pytest.mark.parametrize("every", [3.0, 30.0])
def test_p10_false_evidence_makes_no_duel(every):
    run = duel(1, every)
    minutes = [at / 60 for at, _, _ in run.acquired]
    assert len(run.acquired) <= 13, run.told(f"{len(run.acquired)} takeovers in an hour")
    assert sum(1.0 <= minute < 5.0 for minute in minutes) < 6
    assert run.led() > 0.99


def test_p10_without_a_holdoff_it_does(monkeypatch):
    monkeypatch.setattr(candidacy, "doubled", lambda holdoff, *, lease_duration: 0.0)
    run = duel(1, 3.0, until=240.0)
    assert len(run.acquired) > 40, "or the runs above show nothing"


def test_p10_true_kills_are_no_false_evidence_and_cost_no_holdoff():
    """However often: nobody who is dead leaves a mark."""
    faults = [Fault(at * 30.0, Kind.KILL) for at in range(1, 20)]
    run = calm(1, faults, until=620.0)
    assert takeovers(run) == ["first", *["evidence"] * 19]
    assert sum(end - start for start, end in run.gaps()) < 19 * 0.15
