"""Commands that etcd can't fence, in virtual time: what is promised for them holds by clocks alone."""

from __future__ import annotations

from random import Random

import pytest

from tests.simulation.test_timed import DEADLINE, EVERYTHING, LEASE, STORM, rates
from tests.simulation.unfenced import LATE, Unfenced
from tests.simulation.weather import LEADER, Fault, Kind, Script

QUOTIENT = LEASE / (DEADLINE + 2 * LATE)
"""Of clock rates: what a lease leaves beside the gate, and timers that are late."""

APART = (Kind.PAUSE, Kind.CUT, Kind.DEAF, Kind.KILL)
KINDS = tuple(kind for kind in EVERYTHING if kind is not Kind.HANG)


def storm(seed: int, quotient: float, *, grace: float = 0.0) -> Unfenced:
    random = Random(f"unfenced {seed}")
    script = Script.draw(random, APART if seed % 2 else KINDS, until=110.0, gap=(4.0, 25.0), hosts=5)
    return Unfenced(seed, rates=rates(random, quotient), weather=STORM, script=script, until=120.0, grace=grace).run()


@pytest.mark.parametrize("quotient", [1.0, QUOTIENT])
def test_no_two_commands_run_at_once_and_none_outlives_its_lock(quotient):
    runs = [storm(seed, quotient) for seed in range(14)]
    for run in runs:
        overlaps = run.runs.overlaps()
        assert not overlaps, run.told(f"two commands ran at once: {overlaps}")
    assert sum(len(run.kept) for run in runs) > 3 * len(runs), "and there are commands to overlap"
    released = sum(stop.released for run in runs for _, _, stop in run.stops)
    assert released > len(runs), "and locks that are given back once the command is gone"


def test_commands_killed_at_the_hard_exit_and_not_at_the_gate_do_overlap():
    """Or the runs above would show nothing: the gate leaves a margin for clocks, gate + exit bound doesn't."""
    assert any(storm(seed, QUOTIENT, grace=2.0).runs.overlaps() for seed in range(90, 300))


def test_a_holder_that_is_stopped_keeps_no_command_alive():
    """Its warden isn't stopped with it, and counts by itself."""
    faults = tuple(Fault(at, Kind.PAUSE, LEADER, 40.0) for at in (10.0, 40.0, 70.0))
    for seed in range(6):
        run = Unfenced(seed, script=Script(faults), until=120.0).run()
        assert not run.runs.overlaps(), run.told(f"two commands ran at once: {run.runs.overlaps()}")
        assert len(run.kept) > 3, run.told("nobody followed")


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("block", range(10))
@pytest.mark.parametrize("quotient", [1.0, 1.25, QUOTIENT])
def test_no_two_commands_run_at_once_in_many_more_runs(quotient, block):
    for seed in range(1000 + block * 100, 1100 + block * 100):
        run = storm(seed, quotient)
        overlaps = run.runs.overlaps()
        assert not overlaps, run.told(f"two commands ran at once: {overlaps}")
