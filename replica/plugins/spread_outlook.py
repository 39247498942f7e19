"""What topology spread says of nodes, told by the domains of one topology."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from replica.framework.interface import HIGHEST_SCORE
from replica.framework.outlook import Outlook
from replica.plugins.crowding import weight_of
from replica.plugins.spread_plan import HOSTNAME

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
    bars: list[Bar] = []
    found = Outlook()
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
    wide = [each for each in plan.preferred if each.given.topology_key != HOSTNAME]
    alone = [each for each in plan.preferred if each.given.topology_key == HOSTNAME]
    if len(wide) != 1 or len(alone) > 1 or wide[0].tally.domains.values > FEW:
        return None
    if any(each.tally.domains.lacking for each in (plan.preferred if plan.every_key else alone)):
        return None
    domains = wide[0].tally.domains
    if found.domains is not None and found.domains is not domains:
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
        present = [number for number, count in enumerate(members) if count]
        weight, skew = weight_of(len(present)), self._wide.given.max_skew - 1
        counts = self._wide.tally.counts.tolist()
        table = {number: counts[number] * weight + skew if number else 0.0 for number in present}
        degrees, left = [], dict.fromkeys(present, 0)
        if self._alone is not None:
            more, weight = float(self._alone.given.max_skew - 1), weight_of(sum(members))
            table = {number: each + more for number, each in table.items()}
            for (number, amount), rows in apart.items():
                degrees.append(math.floor(table[number] + weight * amount + 0.5))
                left[number] += len(rows)
        raw = {number: math.floor(each + 0.5) for number, each in table.items()}
        among = [raw[number] for number in present if members[number] > left[number]]
        among += degrees
        most = max(among)
        if not most:
            return [HIGHEST_SCORE for _ in members], [HIGHEST_SCORE for _ in degrees]
        whole = most + min(among)
        scores = [0 for _ in members]
        for number, degree in raw.items():
            scores[number] = (whole - degree) * HIGHEST_SCORE // most
        return scores, [(whole - degree) * HIGHEST_SCORE // most for degree in degrees]
