"""What topology spread says of nodes, told by the domains of one topology."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from replica.framework.interface import HIGHEST_SCORE
from replica.framework.outlook import Outlook
from replica.plugins.crowding import weight_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from replica.framework.outlook import Apart, Bar
    from replica.plugins.spread_plan import Constraint, SpreadPlan

FEW: Final = 64
"""So many domains are gone through one by one."""

NOBODY: Final[Mapping[int, int]] = MappingProxyType({})


def outlook_of(plan: SpreadPlan) -> Outlook | None:
    """What a plan comes to; None where it takes more than the domains of one topology and rows of their own.

    As a rule there is one topology beside the nodes themselves, and all nodes have all labels.
    """
    found = Outlook()
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

    def rank(self, members: Sequence[int], apart: Mapping[Apart, Sequence[int]]) -> tuple[list[int], Iterable[int]]:
        weight, skew = weight_of(len(members) - members.count(0)), self._wide.given.max_skew - 1
        table = [count * weight + skew for count in self._wide.tally.counts.tolist()]
        table[0] = 0.0
        degrees: list[int] = []
        left = [0] * len(members)
        if self._alone is not None:
            more, weight = float(self._alone.given.max_skew - 1), weight_of(sum(members))
            table = [each + more for each in table]
            for (number, amount), rows in apart.items():
                degrees.append(math.floor(table[number] + weight * amount + 0.5))
                left[number] += len(rows)
        raw = [math.floor(each + 0.5) for each in table]
        among = [degree for degree, count, own in zip(raw, members, left, strict=True) if count > own]
        among += degrees
        most = max(among)
        if not most:
            return [HIGHEST_SCORE] * len(members), [HIGHEST_SCORE] * len(degrees)
        whole = most + min(among)
        by_domain = zip(raw, members, strict=True)
        scores = [(whole - degree) * HIGHEST_SCORE // most if count else 0 for degree, count in by_domain]
        return scores, [(whole - degree) * HIGHEST_SCORE // most for degree in degrees]
