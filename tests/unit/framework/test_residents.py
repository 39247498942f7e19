"""Rows judged apart from their domains: kept up by the rows that change, and the same as if grouped anew."""

from __future__ import annotations

from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from replica.cache.changes import Changes
from replica.framework.residents import Residents

ROWS = 8


def grouped(amounts, where):
    found = {}
    for row, amount in amounts.items():
        if row < len(where) and where[row] >= 0:
            found.setdefault((where[row], amount), set()).add(row)
    return found


def told(groups):
    assert all(len(set(rows)) == len(rows) for rows in groups.values())
    return {group: set(rows) for group, rows in groups.items()}


def test_a_row_that_cannot_take_the_pod_is_in_no_group():
    nodes = SimpleNamespace(changes=Changes())
    assert told(Residents({0: 1, 1: 1, 9: 1}).renew(nodes, [2, -1])) == {(2, 1): {0}}


CHANGE = st.tuples(st.integers(0, ROWS - 1), st.integers(0, 2), st.integers(-1, 2))
STEPS = st.lists(st.tuples(st.lists(CHANGE, max_size=4), st.booleans()), max_size=12)


@given(STEPS)
def test_what_changes_moves_from_group_to_group(steps):
    """Some snapshots are passed over, so that what changed in several is caught up with at once."""
    nodes, amounts, where = SimpleNamespace(changes=Changes()), {}, [-1] * ROWS
    residents = Residents(amounts)
    for changes, looked_at in steps:
        for row, amount, number in changes:
            where[row] = number
            amounts.pop(row, None)
            if amount:
                amounts[row] = amount
        nodes.changes.add(row for row, _, _ in changes)
        if looked_at:
            assert told(residents.renew(nodes, where)) == grouped(amounts, where)
