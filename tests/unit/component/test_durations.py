from __future__ import annotations

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from component.durations import DURATION, format_duration, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15s", 15.0),
        ("1m30s", 90.0),
        ("500ms", 0.5),
        ("0.5s", 0.5),
        (".5s", 0.5),
        ("1.s", 1.0),
        ("2h45m", 9900.0),
        ("7ms", 0.007),
        ("100us", 0.0001),
        ("100µs", 0.0001),
        ("1ns", 1e-9),
        ("0", 0.0),
        ("0s", 0.0),
        (" 2s ", 2.0),
        ("1s1s", 2.0),
    ],
)
def test_reads_the_usual_notations(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("", "such as 15s"),
        ("15", "15s for seconds"),
        ("1.5", "1.5s for seconds"),
        ("-1s", "negative"),
        ("15 s", "such as"),
        ("1d", "such as"),
        ("s", "such as"),
        ("1s2", "such as"),
        ("1e3s", "such as"),
        ("nan", "such as"),
        ("\u0661s", "such as"),
        ("9" * 400 + "h", "longer than"),
    ],
)
def test_refuses_the_rest_in_one_line_with_the_remedy(text, hint):
    with pytest.raises(ValueError, match="invalid duration") as caught:
        parse_duration(text)
    assert hint in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (15, "15s"),
        (90, "1m30s"),
        (3600, "1h0m0s"),
        (1.5, "1.5s"),
        (0.5, "500ms"),
        (0.0015, "1.5ms"),
        (1e-6, "1us"),
        (2e-9, "2ns"),
        (-90, "-1m30s"),
        (0.1 + 0.2, "300ms"),
    ],
)
def test_writes_the_shortest(seconds, text):
    assert format_duration(seconds) == text


@given(st.integers(0, 10**16))
def test_what_is_written_reads_back_to_the_nanosecond(nanoseconds):
    assert parse_duration(format_duration(nanoseconds / 1e9)) == pytest.approx(nanoseconds / 1e9, abs=1e-9)


@click.command()
@click.option("--period", type=DURATION, default=2.0)
def show(period: float) -> None:
    click.echo(f"{period!r}")


def test_as_an_option():
    assert CliRunner().invoke(show, ["--period", "1m"]).output == "60.0\n"
    assert CliRunner().invoke(show, []).output == "2.0\n"
    bad = CliRunner().invoke(show, ["--period", "fast"])
    assert bad.exit_code == 2
    assert "Invalid value for '--period': invalid duration 'fast'" in bad.output
