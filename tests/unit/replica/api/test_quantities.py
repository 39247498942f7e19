from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.api.quantities import (
    LARGEST,
    QuantityError,
    amount,
    cpu_milli,
    format_bytes,
    format_milli,
    parse_quantity,
    whole,
)

SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("100m", Fraction(1, 10)),
        ("1.5Gi", 3 * 2**29),
        ("1e3", 1000),
        ("1E3", 1000),
        ("2E", 2 * 10**18),
        ("2Ei", 2**61),
        ("1E-2", Fraction(1, 100)),
        ("1e+2", 100),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("+1", 1),
        ("-1", -1),
        ("-1.25Mi", -(2**20) * Fraction(5, 4)),
        ("007", 7),
    ],
)
def test_reads(text, number):
    assert parse_quantity(text) == number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1x",
        "m",
        ".",
        "-",
        "1 Gi",
        " 1",
        "1\n",
        "1gi",
        "1K",
        "1KI",
        "1.2.3",
        "--1",
        "1e",
        "1e1.5",
        "1mi",
        "inf",
        "\u0661",
        "1e101",
        "1e-101",
        "1" * 65,
        "0x10",
        "1_000",
        "1,5",
    ],
)
def test_refuses(text):
    with pytest.raises(QuantityError):
        parse_quantity(text)


@given(
    st.integers(0, 10**15),
    st.integers(0, 9),
    st.sampled_from(sorted(SUFFIXES)),
)
def test_agrees_with_exact_arithmetic(digits, places, suffix):
    text = f"{Decimal(digits).scaleb(-places):f}{suffix}"
    exact = Fraction(digits, 10**places) * SUFFIXES[suffix]
    assert parse_quantity(text) == exact
    assert amount(text) == min(-(-exact.numerator // exact.denominator), LARGEST)
    milli = exact * 1000
    assert cpu_milli(text) == min(-(-milli.numerator // milli.denominator), LARGEST)


@given(st.integers(0, LARGEST))
def test_what_is_formatted_reads_back(count):
    assert amount(format_bytes(count)) == count
    if count < LARGEST // 1000:
        assert cpu_milli(format_milli(count)) == count


@pytest.mark.parametrize(
    ("text", "milli", "pieces"), [("1n", 1, 1), ("1.0001", 1001, 2), ("0", 0, 0), ("100Ei", LARGEST, LARGEST)]
)
def test_rounds_up_and_stops_at_64_bits(text, milli, pieces):
    assert (cpu_milli(text), amount(text)) == (milli, pieces)


@pytest.mark.parametrize("read", [cpu_milli, amount, whole])
def test_negative_amounts_are_refused(read):
    with pytest.raises(QuantityError, match=r'"-1" is negative'):
        read("-1")


def test_devices_are_whole():
    assert whole("2k") == 2000
    with pytest.raises(QuantityError, match="whole number"):
        whole("0.5")


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0"), (1610612736, "1536Mi"), (1023, "1023"), (2**60, "1Ei"), (2**61, "2Ei")]
)
def test_bytes_are_written_short(count, text):
    assert format_bytes(count) == text
