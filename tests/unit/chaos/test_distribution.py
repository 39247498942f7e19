"""Quantiles that were seen, and intervals that hold by counting alone."""

import pytest

from chaos.measure.distribution import QUANTILES, Distribution, interval, needed
from chaos.measure.theory import beside, theories
from chaos.timing import Timing


def test_quantiles_are_values_that_were_seen():
    told = Distribution.of([30.0, None, 10.0, 20.0, 40.0])
    assert {name: told[name] for name in ("min", "p50", "p90", "p99", "max", "mean", "count")} == {
        "min": 10.0,
        "p50": 20.0,
        "p90": 40.0,
        "p99": 40.0,
        "max": 40.0,
        "mean": 25.0,
        "count": 4.0,
    }


def test_of_a_hundred_the_99th_is_the_one_before_the_last():
    told = Distribution.of(float(value) for value in range(1, 101))
    assert (told["p50"], told["p90"], told["p99"]) == (50.0, 90.0, 99.0)


def test_nothing_measured_tells_nothing():
    assert Distribution.of([None])["p99"] is None
    assert Distribution.of([])["count"] == 0
    assert Distribution.of([]).document()["ci95"] == {"p50": None, "p90": None, "p99": None}
    with pytest.raises(KeyError):
        Distribution.of([1.0])["p98"]


def test_the_interval_of_a_median_is_the_textbooks():
    # of 30 values the 10th and the 21st; of 100 the 40th and the 61st
    assert interval(30, 0.5) == (9, 20)
    assert interval(100, 0.5) == (39, 60)


@pytest.mark.parametrize("quantile", QUANTILES.values(), ids=QUANTILES)
def test_an_interval_exists_from_so_many_values_on(quantile):
    assert interval(needed(quantile) - 1, quantile) is None
    assert interval(needed(quantile), quantile) is not None


def test_a_document_has_all_of_it():
    told = Distribution.of([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).document()
    assert told["ci95"] == {"p50": [1.0, 6.0], "p90": None, "p99": None}
    assert (told["min"], told["mean"], told["count"]) == (1.0, 3.5, 6)


def test_theory_ours_is_a_lease_less_the_age_of_the_last_renewal():
    (ours,) = [each for each in theories(Timing(), standbys=2) if each.name == "expiry"]
    assert (ours.min, ours.mean, ours.max) == (13.0, 14.0, 15.0)


def test_theory_client_gos_standbys_poll_so_they_are_late_twice():
    told = {each.name: each for each in theories(Timing(), standbys=1)}
    release, expiry = told["client-go release"], told["client-go expiry"]
    # the mean residual of a pause uniform over 2 s to 4.4 s is E X^2 / (2 E X) = 10.72 / 6.4
    assert release.mean == pytest.approx(1.675, rel=0.02)
    assert (release.min, release.max) == (0.0, pytest.approx(4.4))
    # late by one residual at the last renewal, by another at the expiry, and the renewal is 1 s old on average
    assert expiry.mean == pytest.approx(15 + 1.675 + 1.675 - 1, rel=0.01)
    assert (expiry.min, expiry.max) == (13.0, pytest.approx(23.8))
    assert release.p99 < release.max
    assert expiry.p99 < expiry.max


def test_theory_more_standbys_are_sooner():
    few, many = ({each.name: each.mean for each in theories(Timing(), standbys=count)} for count in (1, 4))
    assert many["client-go release"] < few["client-go release"]
    assert many["client-go expiry"] < few["client-go expiry"]


def test_theory_client_go_cuts_a_lease_off_to_whole_seconds():
    timing = Timing(lease_duration=3.9, renew_deadline=2.0, retry_period=0.5)
    (theirs,) = [each for each in theories(timing, standbys=1) if each.name == "client-go expiry"]
    assert theirs.min == 2.5


def test_theory_beside_a_takeover_are_two():
    assert [each.name for each in beside(Timing(), "release", standbys=2)] == ["release", "client-go release"]
    assert [each.name for each in beside(Timing(), "evidence", standbys=2)] == ["evidence", "client-go expiry"]


def test_timing_is_read_from_flags():
    told = Timing.of_flags(("--v=2", "--leader-elect-lease-duration=3s", "--leader-elect-renew-deadline=2s"))
    assert (told.lease_duration, told.renew_deadline, told.retry_period) == (3.0, 2.0, 2.0)
    assert Timing.of_flags(("--exit-bound=1s",)).exit_seconds == 1.0
    assert Timing().exit_seconds == 2.0
    assert Timing().longest_poll == pytest.approx(4.4)
