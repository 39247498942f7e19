from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from component.tracing.traceparent import Traceparent, parse

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def test_reads_and_writes_the_w3c_form():
    found = parse(f" 00-{TRACE}-{SPAN}-01\n")
    assert found == Traceparent(int(TRACE, 16), int(SPAN, 16), 1)
    assert str(found) == f"00-{TRACE}-{SPAN}-01"


@pytest.mark.parametrize(("flags", "sampled"), [("00", False), ("01", True), ("02", False), ("03", True), ("ff", True)])
def test_flags_are_bits(flags, sampled):
    assert parse(f"00-{TRACE}-{SPAN}-{flags}").sampled is sampled


def test_a_later_version_may_have_more_behind():
    assert parse(f"01-{TRACE}-{SPAN}-01-more") == parse(f"00-{TRACE}-{SPAN}-01")


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "x",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-more",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE[1:]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-1",
    ],
)
def test_a_bad_one_is_as_good_as_none(bad):
    assert parse(bad) is None


@given(st.integers(1, 2**128 - 1), st.integers(1, 2**64 - 1), st.integers(0, 255))
def test_what_is_written_reads_back(trace_id, span_id, flags):
    made = Traceparent(trace_id, span_id, flags)
    assert parse(str(made)) == made
