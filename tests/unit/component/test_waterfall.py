"""Spans laid out in time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from component.tracing.waterfall import Row, Waterfall, lines

MOMENTS = st.floats(min_value=0, max_value=1e10, allow_nan=False)
ROWS = st.builds(
    lambda start, length: Row(what="x", start=start, end=start + length),
    MOMENTS,
    st.sampled_from((0.0, 1e-7, 0.5, 1e4)),
)


def test_bars_stand_where_they_belong():
    rows = (
        Row(what="old", start=0.0, end=0.0),
        Row(what="wait", start=10.0, end=12.0, who="a"),
        Row(what="swap", start=12.0, end=14.0, depth=1, note="token 7"),
        Row(what="now", start=14.0, end=14.0),
    )
    shown = Waterfall(
        title="One", origin=12.0, rows=rows, facts=("so it was",), parts=(("a", 0.5), ("b", None)), since=10.0
    )
    assert lines(shown, width=20) == [
        "One",
        "  so it was",
        "  a 500.0 ms   b -",
        "     -12000.0 ms  |<                   |  old",
        "      -2000.0 ms  |==========          |  wait      2000.0 ms  a",
        "         +0.0 ms  |          ==========|    swap    2000.0 ms  (token 7)",
        "      +2000.0 ms  |                   *|  now",
    ]


def test_nothing_is_a_title():
    assert lines(Waterfall(title="Empty", origin=0.0, rows=())) == ["Empty"]


@given(st.lists(ROWS, min_size=1, max_size=8), st.none() | MOMENTS, st.integers(1, 80))
def test_every_bar_is_within_the_chart(rows, since, width):
    shown = Waterfall(title="t", origin=rows[0].start, rows=tuple(rows), since=since)
    for row in rows:
        left, right = shown.place(row)
        assert 0.0 <= left <= right <= 1.0
    charts = [line.split("|")[1] for line in lines(shown, width=width)[1:]]
    assert {len(chart) for chart in charts} == {max(width, 20)}
    assert all(chart.strip() for chart in charts)
