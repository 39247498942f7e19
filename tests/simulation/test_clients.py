"""Clients whose streams break and are resumed, in virtual time: no two are entitled to act at once."""

from __future__ import annotations

from random import Random

import pytest

from tests.simulation.clients import Served
from tests.simulation.weather import LEADER, STORM, Fault, Kind, Script, Weather

HOSTS = 4
TOLERATED = 1.5
FAST = {"lease_duration": 3.0, "renew_deadline": 2.0, "retry_period": 0.4}
FAST_STORM = Weather(lost=0.1, late=0.1, lateness=2.8, spurious=0.05)
KINDS = (Kind.BREAK, Kind.BREAK, Kind.KILL, Kind.HANG, Kind.TERM, Kind.PAUSE, Kind.CUT, Kind.DEAF, Kind.OUTAGE)


def storm(seed: int, quotient: float, *, fast: bool = False) -> Served:
    random = Random(f"clients {seed}")
    rates = (1.0, quotient, *(random.choice((1.0, quotient)) for _ in range(HOSTS - 2)))
    until = 50.0 if fast else 150.0
    script = Script.draw(random, KINDS, until=until * 0.9, gap=(0.5, 5.0) if fast else (3.0, 20.0), hosts=HOSTS)
    weather, config = (FAST_STORM, FAST) if fast else (STORM, {})
    run = Served(seed, rates=rates, weather=weather, script=script, until=until, config=config)
    run.run()
    return run


@pytest.mark.parametrize("block", range(2))
@pytest.mark.parametrize("fast", [False, True], ids=["defaults", "fast"])
def test_no_two_clients_are_entitled_at_once(fast, block):
    runs = [storm(seed, TOLERATED, fast=fast) for seed in range(block * 5, block * 5 + 5)]
    for run in runs:
        assert not run.overlaps(), run.told(f"two were entitled at once: {run.overlaps()}")
    assert sum(run.resumed for run in runs) > len(runs), "and terms were taken up"
    assert sum(len(run.acquired) for run in runs) > len(runs)
    assert sum(run.led() for run in runs) > 0.4 * len(runs), "or it would be easy: nobody leads"


def deaf_then_cut(seed: int, *, from_arrival: bool) -> Served:
    """Renewals are committed, and what tells of them is late; then nothing more is."""
    random, faults = Random(f"deaf {seed}"), []
    for at in (20.0, 60.0, 100.0):
        deaf = random.uniform(4.0, 8.0)
        faults += [Fault(at, Kind.DEAF, LEADER, deaf), Fault(at + deaf, Kind.CUT, LEADER, 20.0)]
    run = Served(seed, rates=(1.0, TOLERATED), script=Script(tuple(faults)), until=130.0, from_arrival=from_arrival)
    run.run()
    return run


def test_a_late_answer_entitles_for_no_longer():
    for seed in range(4):
        run = deaf_then_cut(seed, from_arrival=False)
        assert not run.overlaps(), run.told(f"two were entitled at once: {run.overlaps()}")
        assert len(run.acquired) > 1, run.told("nobody was replaced")


def test_counted_from_when_an_answer_comes_two_would_be_entitled():
    """Or the runs above would show nothing."""
    assert any(deaf_then_cut(seed, from_arrival=True).overlaps() for seed in range(4))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("block", range(20))
def test_in_many_more_runs(block):
    for seed in range(20_000 + block * 30, 20_000 + block * 30 + 30):
        for fast in (False, True):
            run = storm(seed, TOLERATED, fast=fast)
            assert not run.overlaps(), run.told(f"two were entitled at once: {run.overlaps()}")
