"""Asks plugins about single rows, where all of a profile's can be asked so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from replica.framework.interface import HIGHEST_SCORE, RowFilterPlugin, RowScorePlugin
from replica.framework.status import PluginFailed, as_failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replica.cache.nodes import Nodes
    from replica.framework.adapter import Weighted
    from replica.framework.interface import Plugin
    from replica.framework.standing import Standing


class ByRow:
    """The same filters and scores as columns would give, for a few rows."""

    def __init__(self, filters: Sequence[RowFilterPlugin], scores: Sequence[tuple[RowScorePlugin, int | None]]) -> None:
        self._filters = tuple((plugin.name, plugin.filter_row) for plugin in filters)
        self._scores = tuple((plugin.name, plugin.score_row, weight) for plugin, weight in scores)

    @classmethod
    def of(cls, filters: Sequence[Plugin], scores: Sequence[Weighted]) -> Self | None:
        """None when some plugin can't be asked about one row."""
        row_filters = [plugin for plugin in filters if isinstance(plugin, RowFilterPlugin)]
        # One that normalizes may be left out for the pods that share; others of it don't share.
        row_scores = [
            (each.plugin, None if each.scaler else each.weight)
            for each in scores
            if isinstance(each.plugin, RowScorePlugin)
        ]
        if len(row_filters) < len(filters) or len(row_scores) < len(scores):
            return None
        return cls(row_filters, row_scores)

    def update(self, known: Standing, nodes: Nodes, rows: Sequence[int]) -> None:
        """Ask about rows that changed, and enter how they stand now.

        Raises:
            PluginFailed: A plugin is broken.
        """
        for row in rows:
            if self._fits(known, nodes, row):
                score, parts = self._score(known, nodes, row)
                known.update_row(row, fits=True, score=score, parts=parts)
            else:
                known.update_row(row, fits=False, score=0)

    def _fits(self, known: Standing, nodes: Nodes, row: int) -> bool:
        if not nodes.valid.item(row) or (known.names is not None and nodes.names[row] not in known.names):
            return False
        state, pod = known.state, known.pod
        skip = state.skip_filter
        for name, ask in self._filters:
            if name in skip:
                continue
            try:
                passes = ask(state, pod, nodes, row)
            except Exception as error:
                raise as_failure(error, name, "Filter") from error
            if not passes:
                return False
        return True

    def _score(self, known: Standing, nodes: Nodes, row: int) -> tuple[int, list[int]]:
        """The weighted sum, and what is still to be scaled."""
        state, pod, total, parts = known.state, known.pod, 0, []
        skip = state.skip_score
        for name, ask, weight in self._scores:
            if name in skip:
                continue
            try:
                score = ask(state, pod, nodes, row)
            except Exception as error:
                raise as_failure(error, name, "Score") from error
            if weight is None:
                parts.append(score)
                continue
            if not 0 <= score <= HIGHEST_SCORE:
                raise PluginFailed(name, "Score", f"score {score} is outside 0 to {HIGHEST_SCORE}")
            total += score * weight
        return total, parts
