"""The best row by what domains score on top: the one that a plain reading of all rows draws."""

from __future__ import annotations

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from replica.framework.choice import Ranked, choose
from replica.framework.cycle_state import CycleState
from replica.framework.scoring import Scores
from replica.framework.shelves import Shelf
from replica.framework.standing import Standing
from tests.harness.framework import table_of
from tests.harness.objects import node, pod


@settings(max_examples=300)
@given(st.integers(0, 2**40))
def test_the_best_row_is_drawn_as_from_all(seed):
    draw = random.Random(seed)  # noqa: S311  # drawn tests, no secret
    size, zones = draw.randrange(1, 14), draw.randrange(1, 4)
    view = table_of([node(f"n{each}", labels={"zone": f"{draw.randrange(zones)}"}) for each in range(size)]).snapshot()
    scores, feasible = [draw.randrange(3) for _ in range(size)], [draw.random() < 0.8 for _ in range(size)]
    feasible[draw.randrange(size)] = True
    standing = Standing(
        pod(),
        CycleState(),
        nodes=view,
        feasible=np.array(feasible, np.bool_),
        scores=Scores(np.array(scores, np.int64)),
    )
    domains = view.census.domains("zone")
    shelf = Shelf(standing, domains, ())
    shelf.renew(view)
    ids = domains.ids.tolist()
    apart: dict[tuple[int, int], list[int]] = {}
    for row in range(size):
        if feasible[row] and draw.random() < 0.5:
            apart.setdefault((ids[row], draw.randrange(1, 3)), []).append(row)
    by_domain, weight = [draw.randrange(3) for _ in shelf.members], draw.randrange(1, 3)
    ranked = Ranked(shelf.members, by_domain, apart, [draw.randrange(3) for _ in apart], weight)
    more = {row: by_domain[ids[row]] for row in range(size)}
    more |= {row: score for rows, score in zip(apart.values(), ranked.others, strict=True) for row in rows}
    total = {row: scores[row] + more[row] * weight for row in range(size) if feasible[row]}
    best = max(total.values())
    among = sorted(row for row, score in total.items() if score == best)
    other = random.Random(seed)  # noqa: S311  # drawn tests, no secret
    draw.seed(seed)
    want = among[other.randrange(len(among)) if len(among) > 1 else 0]
    assert choose(shelf, ranked, draw) == (want, best)
    assert draw.getstate() == other.getstate()
