"""The scores of all nodes: each plugin's, weighted and added up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from replica.framework.interface import HIGHEST_SCORE
from replica.framework.status import as_failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Amounts, Flags, Nodes
    from replica.framework.adapter import Weighted
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Scaler
    from replica.framework.metrics import FrameworkMetrics


class Scaled:
    """One plugin's scores before they are brought to range, and the greatest among the feasible nodes.

    Attributes:
        greatest: 0 where no node is feasible.
    """

    __slots__ = ("_holders", "_known", "_plugin", "_raw", "_weight", "greatest")

    def __init__(self, plugin: Scaler, weight: int, raw: Amounts | None) -> None:
        self._plugin = plugin
        self._weight = weight
        self._raw = raw
        self.greatest = 0
        self._holders = 0
        """Feasible nodes that have the greatest; not kept while that is 0."""
        self._known: dict[tuple[int, int], int] = {}

    @property
    def uniform(self) -> bool:
        """Are all scores 0, as far as is known?"""
        return self._raw is None

    def even(self, count: int) -> bool:
        """Have all of the feasible nodes, so many, the same score?"""
        return self._raw is None or not self.greatest or self._holders == count

    def raw(self, index: int) -> int:
        return 0 if self._raw is None else self._raw.item(index)

    def find(self, feasible: Flags) -> None:
        """Find the greatest among all."""
        if self._raw is not None:
            among = self._raw[feasible]
            self.greatest = int(among.max(initial=0))
            self._holders = int(np.count_nonzero(among == self.greatest))

    def reaches(self, feasible: Flags) -> bool:
        """Is the greatest among these rows the greatest among all?"""
        return self._raw is None or int(self._raw[feasible].max(initial=0)) == self.greatest

    def narrowed(self, feasible: Flags) -> Scaled:
        """The same scores where only these rows are feasible."""
        found = Scaled(self._plugin, self._weight, self._raw)
        found.find(feasible)
        return found

    def enter(self, row: int, raw: int, *, was: bool, feasible: Flags) -> bool:
        """A node has another score, or fits otherwise than it did (`was`).

        Returns:
            Whether the greatest is another one now: then every node's score is.
        """
        if self._raw is None:
            if not raw:
                return False
            self._raw = np.zeros(len(feasible), np.int64)
        if was and self._raw.item(row) == self.greatest:
            self._holders -= 1
        self._raw[row] = raw
        if feasible.item(row):
            if raw > self.greatest:
                self.greatest, self._holders = raw, 1
                return True
            self._holders += raw == self.greatest
        if self._holders or not self.greatest:
            return False
        before = self.greatest
        self.find(feasible)
        return self.greatest != before

    def one(self, raw: int) -> int:
        """What this score adds to a node's."""
        known = self._known.get((raw, self.greatest))
        if known is None:
            known = self._scaled(np.array([raw], np.int64)).item(0) * self._weight
            self._known[raw, self.greatest] = known
        return known

    def all(self, feasible: Flags) -> Amounts:
        """What these scores add to each node's, unless they are uniform."""
        if self._raw is None:
            raise LookupError("uniform scores have no column")
        scaled = self._scaled(self._raw)
        check_range(scaled, feasible)
        return scaled * self._weight

    def _scaled(self, raw: Amounts) -> Amounts:
        try:
            return self._plugin.scale(raw, self.greatest)
        except Exception as error:
            raise as_failure(error, self._plugin.name, "Score") from error


class Scores:
    """Weighted sums.

    Attributes:
        base: int64[size], of the scores that hold whichever nodes are feasible.
        scaled: The others, in the order of their plugins.
    """

    __slots__ = ("base", "scaled")

    def __init__(self, base: Amounts, scaled: Sequence[Scaled] = ()) -> None:
        self.base = base
        self.scaled = tuple(scaled)

    def narrowed(self, feasible: Flags) -> Scores:
        """The same where only these rows are feasible."""
        return Scores(self.base, [each.narrowed(feasible) for each in self.scaled])

    def total(self, feasible: Flags) -> Amounts:
        """int64[size]. Rows that aren't feasible don't matter."""
        parts = [each.all(feasible) for each in self.scaled if not each.uniform]
        return sum(parts, self.base)  # makes another column, if any: `base` stays as it is

    def offset(self) -> int:
        """What is to be added to the total of each row."""
        return sum(each.one(0) for each in self.scaled if each.uniform)


class Scoring:
    """A profile's Score plugins.

    A plugin that raises, or answers with a column of another shape or out of range, ends the evaluation with
    `PluginFailed`.
    """

    def __init__(self, scores: Sequence[Weighted], metrics: FrameworkMetrics) -> None:
        self._scores = tuple(scores)
        self._metrics = metrics

    def lasts(self, state: CycleState) -> bool:
        """Does each node's score depend on that node alone? A normalized one depends on all that are feasible."""
        return all(each.normalizer is None or each.plugin.name in state.skip_score for each in self._scores)

    def score(self, state: CycleState, pod: Pod, nodes: Nodes, feasible: Flags) -> Scores:
        """All scores. Rows that aren't feasible don't matter."""
        total = np.zeros(nodes.size, np.int64)
        scaled = []
        began = self._metrics.begin(state)
        for weighted in self._scores:
            plugin = weighted.plugin
            if plugin.name in state.skip_score:
                continue
            start = self._metrics.begin(state)
            try:
                scores = weighted.score(state, pod, nodes, feasible)
                if weighted.scaler is not None:
                    if scores is not None:
                        check_range(scores, feasible, highest=None)
                    scaled.append(Scaled(weighted.scaler, weighted.weight, scores))
                    scores = None
                elif weighted.normalizer is not None:
                    given = np.zeros(nodes.size, np.int64) if scores is None else scores
                    scores = weighted.normalizer.normalize(state, pod, given, feasible)
                if scores is not None:
                    check_range(scores, feasible)
                    total += scores * weighted.weight if weighted.weight != 1 else scores
            except Exception as error:
                raise as_failure(error, plugin.name, "Score") from error
            self._metrics.plugin(plugin.name, "Score", "Success", start)
        self._metrics.point("Score", "Success", began)
        return Scores(total, scaled)


def check_range(scores: Amounts, feasible: Flags, highest: int | None = HIGHEST_SCORE) -> None:
    """Scores lie in range, on feasible rows.

    Raises:
        ValueError: One doesn't.
    """
    # As a rule all rows do, which is cheaper to see.
    if len(scores) and (scores.min() < 0 or (highest is not None and scores.max() > highest)):
        outside = (scores < 0) & feasible
        if highest is not None:
            outside |= (scores > highest) & feasible
        if outside.any():
            raise ValueError(f"score {int(scores[outside][0])} is outside 0 to {highest or 'any'}")


def by_greatest(scores: Amounts, greatest: int, *, reverse: bool = False) -> Amounts:
    """Shares of the greatest in whole percents, 0 where that is 0.

    Args:
        reverse: The less the better: what is missing to HIGHEST_SCORE.
    """
    shares = scores * HIGHEST_SCORE // greatest if greatest else np.zeros_like(scores)
    return HIGHEST_SCORE - shares if reverse else shares
