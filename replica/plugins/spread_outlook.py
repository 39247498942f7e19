"""What topology spread says of nodes, told by the domains of one topology."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import compress
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from replica.framework.interface import HIGHEST_SCORE
from replica.framework.outlook import Outlook
from replica.plugins.crowding import weight_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from replica.framework.outlook import Apart, Bar
    from replica.plugins.spread_plan import Constraint, SpreadPlan

KEPT: Final = 4096
"""Results of ranking remembered."""

FEW: Final = 64
"""So many domains are gone through one by one."""

NOBODY: Final[Mapping[int, int]] = MappingProxyType({})


def outlook_of(plan: SpreadPlan) -> Outlook | None:
    """What a plan comes to; None where it takes more than the domains of one topology and rows of their own.

    As a rule there is one topology beside the nodes themselves, and all nodes have all labels.
    """
    if plan.required:
        return _look(plan)
    # What wishes come to is the same until nodes change: how many pods are where is asked when they are ranked.
    versions = tuple([each.tally.domains.version for each in plan.preferred])
    if plan.told is None or plan.told[0] != versions:
        plan.told = versions, _look(plan)
    return plan.told[1]


def _look(plan: SpreadPlan) -> Outlook | None:
    found = Outlook(lasting=not plan.required)
    bars: list[Bar] = []
    for each in plan.required:
        domains = each.tally.domains
        if domains.lacking:
            return None
        if not domains.shared:
            bars.append((each.tally, each.most))
        elif domains.values > FEW or not found.refuse(domains, each.allowed_by_domain()):
            return None
    found.bars = tuple(bars)
    if not plan.preferred:
        return found
    wide, alone = plan.wide, plan.alone
    if len(wide) != 1 or len(alone) > 1:
        return None
    domains = wide[0].tally.domains
    if domains.values > FEW or (found.domains is not None and found.domains is not domains):
        return None
    for each in plan.preferred if plan.every_key else alone:
        if each.tally.domains.lacking:
            return None
    found.domains = domains
    found.rank = _Ranking(wide[0], alone[0] if alone else None)
    return found


class _Ranking:
    """The emptier the better, as `crowding.Crowding` has it, by domain and for the rows with pods of their own.

    Args:
        wide: The constraint of a topology.
        alone: That of the nodes themselves, if there is one.
    """

    __slots__ = ("_alone", "_wide")

    def __init__(self, wide: Constraint, alone: Constraint | None) -> None:
        self._wide = wide
        self._alone = alone

    @property
    def rows(self) -> Mapping[int, int]:
        return NOBODY if self._alone is None else self._alone.tally.amounts

    def rank(self, members: Sequence[int], apart: Mapping[Apart, Sequence[int]]) -> tuple[Sequence[int], Sequence[int]]:
        alone = self._alone
        return _ranks(
            tuple(self._wide.tally.counts.tolist()),
            tuple(members),
            tuple([(number, amount, len(rows)) for (number, amount), rows in apart.items()]),
            self._wide.given.max_skew - 1,
            0 if alone is None else alone.given.max_skew - 1,
        )


@lru_cache(maxsize=KEPT)
def _ranks(
    counts: tuple[int, ...],
    members: tuple[int, ...],
    apart: tuple[tuple[int, int, int], ...],
    skew: int,
    skew_alone: int,
) -> tuple[Sequence[int], Sequence[int]]:
    """Scores by domain, and of the rows apart. Pods of one controller after the other come by the same few states.

    Args:
        counts: By domain, how many pods count.
        members: By domain, how many nodes are feasible.
        apart: A domain, what is counted on a node there, and how many nodes that is true of.
        skew: That of the topology, less 1; `skew_alone` that of the nodes themselves.
    """
    weight, more = weight_of(len(members) - members.count(0)), float(skew_alone)
    table = [count * weight + skew + more for count in counts]
    table[0] = more
    raw = [math.floor(each + 0.5) for each in table]
    degrees: list[int] = []
    left = list(members)
    weight = weight_of(sum(members))
    for number, amount, nodes in apart:
        degrees.append(math.floor(table[number] + weight * amount + 0.5))
        left[number] -= nodes
    among = [*compress(raw, left), *degrees]
    most = max(among)
    if not most:
        return (HIGHEST_SCORE,) * len(members), (HIGHEST_SCORE,) * len(degrees)
    whole = most + min(among)
    return (
        tuple([(whole - degree) * HIGHEST_SCORE // most for degree in raw]),
        tuple([(whole - degree) * HIGHEST_SCORE // most for degree in degrees]),
    )
