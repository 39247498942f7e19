"""One row of several ascending lists, drawn as if they were one list."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from replica.framework.shelves import draw_one

rows = st.sets(st.integers(0, 60) | st.integers(0, 10_000), min_size=1, max_size=60)


@given(rows, st.integers(0, 2**32), st.data())
def test_a_row_is_drawn_as_from_one_list(every, seed, data):
    parts = data.draw(st.integers(1, 4))
    split = [sorted(row for index, row in enumerate(sorted(every)) if index % parts == part) for part in range(parts)]
    without = sorted(data.draw(st.sets(st.sampled_from(sorted(every)), max_size=len(every) - 1)))
    left = sorted(every.difference(without))
    one, other = random.Random(seed), random.Random(seed)  # noqa: S311  # drawn tests, no secret
    want = left[one.randrange(len(left)) if len(left) > 1 else 0]
    assert draw_one([each for each in split if each], without, other) == want
    assert one.getstate() == other.getstate()
