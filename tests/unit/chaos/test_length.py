import re

import pytest

from chaos.scenario.length import PATTERN, Length, problem
from chaos.timing import Timing

FAST, DEFAULTS = Timing(lease_duration=3.0, renew_deadline=2.0, retry_period=0.5), Timing()


@pytest.mark.parametrize(
    ("text", "fast", "default"),
    [
        ("5s", 5, 5),
        ("0", 0, 0),
        ("1m30s", 90, 90),
        ("1.5 lease", 4.5, 22.5),
        ("1 lease + 2s", 5, 17),
        ("2 retry-period+0.5 renew-deadline", 2, 9),
        ("600000000 lease", 1.8e9, 9e9),
    ],
)
def test_lengths_in_seconds(text, fast, default):
    assert (Length.parse(text).under(FAST), Length.parse(text).under(DEFAULTS)) == (fast, default)
    assert re.search(PATTERN, text)


@pytest.mark.parametrize("text", ["5", "lease", "1 leases", "-1s", "1 lease +", "1s 2s", ""])
def test_what_is_no_length(text):
    assert problem(text).startswith(f"invalid length {text!r}: ")
    assert not re.search(PATTERN, text)


@pytest.mark.parametrize(
    "text",
    [f"{'9' * 400} lease", f"{'9' * 308} lease", "700000000 lease", "1s + 1000000000 renew-deadline", "200h+2562000h"],
    ids=["infinite", "infinite in seconds", "leases", "a sum", "durations"],
)
def test_a_length_that_nobody_waits_for(text):
    assert problem(text) == f"invalid length {text[:60]!r}: it is longer than 292 years"
