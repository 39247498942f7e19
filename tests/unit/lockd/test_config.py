"""An election's configuration can't exist invalid."""

from __future__ import annotations

import math

import pytest

from lockd.config import NAME_LIMIT, ElectionConfig, name_problems
from lockd.errors import ConfigError


def problems(**fields):
    with pytest.raises(ConfigError) as caught:
        ElectionConfig(**{"identity": "host_1", **fields})
    return caught.value.problems


def test_the_defaults_are_kube_schedulers():
    config = ElectionConfig(identity="host_1")
    assert (config.namespace, config.name) == ("kube-system", "kube-scheduler")
    assert (config.lease_duration, config.renew_deadline, config.retry_period) == (15.0, 10.0, 2.0)
    assert config.exit_seconds == 2.0
    assert config.attempt == 1.25
    assert config.release_attempt == 0.25


def test_the_fast_set_used_in_demos_is_valid():
    config = ElectionConfig(identity="host_1", lease_duration=3.0, renew_deadline=2.0, retry_period=0.5)
    assert config.exit_seconds == 0.5
    assert config.attempt == 0.25


def test_a_lease_no_longer_than_the_deadline_is_one_problem_and_names_both():
    assert problems(lease_duration=10.0) == ("lease duration (10s) must exceed renew deadline (10s)",)
    assert problems(lease_duration=5.0) == ("lease duration (5s) must exceed renew deadline (10s)",)


def test_a_bad_name_does_not_hide_durations_that_do_not_add_up():
    assert len(problems(identity="", lease_duration=10.0, retry_period=9.0)) == 3


def test_every_problem_is_told_at_once():
    found = problems(identity="", namespace="a/b", retry_period=0.0, work_timeout=math.nan)
    assert len(found) == 4
    assert [name for name in ("identity", "namespace", "retry period", "work timeout") if name in " ".join(found)] == [
        "identity",
        "namespace",
        "retry period",
        "work timeout",
    ]


@pytest.mark.parametrize(
    "field", ["lease_duration", "renew_deadline", "retry_period", "exit_bound", "work_timeout", "drain_timeout"]
)
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_duration_is_a_positive_finite_number(field, value):
    (problem, *_) = problems(**{field: value})
    assert "positive" in problem


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"lease_duration": 10.0, "exit_bound": 0.1}, "lease duration (10s) must exceed renew deadline (10s)"),
        ({"retry_period": 10.0 / 1.2}, "must exceed 1.2 x retry period"),
        ({"exit_bound": 5.0}, "must stay below lease duration"),
    ],
)
def test_equality_is_refused(fields, says):
    found = problems(**fields)
    assert any(says in problem for problem in found), found


def test_just_inside_each_rule_is_taken():
    ElectionConfig(identity="host_1", retry_period=8.3, exit_bound=4.99)


def test_a_name_may_have_as_many_bytes_as_the_limit():
    assert name_problems("name", "x" * NAME_LIMIT) == ()
    assert name_problems("name", "ä" * (NAME_LIMIT // 2)) == ()


@pytest.mark.parametrize("value", ["", "a/b", "x" * (NAME_LIMIT + 1), "ä" * 127, "a\nb", "a\0b"])
def test_a_name_that_is_no_part_of_a_key_is_refused(value):
    (problem,) = name_problems("name", value)
    assert problem.startswith("name ")
    assert "\n" not in problem
