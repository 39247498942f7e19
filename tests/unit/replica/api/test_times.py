from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.api.times import age_of, format_age, format_time, parse_time

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0.9, "0s"),
        (119, "119s"),
        (120, "2m"),
        (5 * MINUTE + 12, "5m12s"),
        (10 * MINUTE + 12, "10m"),
        (179 * MINUTE, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 7 * MINUTE, "3h7m"),
        (8 * HOUR + 7 * MINUTE, "8h"),
        (47 * HOUR, "47h"),
        (2 * DAY + 5 * HOUR, "2d5h"),
        (8 * DAY + 5 * HOUR, "8d"),
        (400 * DAY, "400d"),
        (3 * YEAR + 20 * DAY, "3y20d"),
        (9 * YEAR, "9y"),
    ],
)
def test_ages(seconds, text):
    assert format_age(seconds) == text


@given(st.integers(0, 2**33))
def test_times_read_back(wall):
    assert parse_time(format_time(wall + 0.5)) == wall


@pytest.mark.parametrize("text", ["", "yesterday", "2026-01-31T12:00:00"])
def test_what_is_no_time(text):
    assert parse_time(text) is None
    assert age_of(text, 0.0) == "<unknown>"


def test_offsets_and_fractions():
    assert parse_time("2026-01-31T12:00:00.5+01:00") == parse_time("2026-01-31T11:00:00Z") + 0.5
    assert age_of("2026-01-31T12:00:00Z", parse_time("2026-01-31T12:00:45Z")) == "45s"
