"""Where a pod should go."""

from __future__ import annotations

import msgspec


class Placement(msgspec.Struct, frozen=True, gc=False):
    """Where a pod should go.

    Attributes:
        row: The node's row in the view.
        feasible: How many nodes could have taken it.
        evaluated: How many nodes there were.
        score: The chosen node's, weights counted in; 0 when there was no choice.
    """

    node_name: str
    row: int
    feasible: int
    evaluated: int
    score: int = 0
