"""Asks plugins about single rows, where all of a profile's can be asked so."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, Self

from replica.framework.interface import HIGHEST_SCORE, ByNodePlugin, RowFilterPlugin, RowScorePlugin
from replica.framework.standing import Asked
from replica.framework.status import PluginFailed, as_failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Nodes
    from replica.framework.adapter import Weighted
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Plugin
    from replica.framework.standing import Standing

    RowFilter = tuple[str, Callable[[CycleState, Pod, Nodes, int], bool]]
    RowScore = tuple[str, Callable[[CycleState, Pod, Nodes, int], int], int | None]


class ByRow:
    """The same filters and scores as columns would give, for a few rows."""

    def __init__(self, filters: Sequence[RowFilterPlugin], scores: Sequence[tuple[RowScorePlugin, int | None]]) -> None:
        self._filters = tuple((plugin.name, plugin.filter_row) for plugin in filters)
        self._scores = tuple((plugin.name, plugin.score_row, weight) for plugin, weight in scores)
        self._by_node = frozenset(each.name for each in filters if _by_node(each))
        scaled = [plugin for plugin, weight in scores if weight is None]
        self._scaled_by_node = all(map(_by_node, scaled))

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

    def update(self, known: Standing, nodes: Nodes, rows: Sequence[int], *, nodes_changed: bool = True) -> None:
        """Ask about rows that changed, and enter how they stand now.

        Args:
            nodes_changed: Maybe not just their pods did: then those are asked, too, who look at nodes alone.

        Raises:
            PluginFailed: A plugin is broken.
        """
        state, pod = known.state, known.pod
        asked = known.asked or self._ask(known)
        for row in rows:
            if not nodes_changed and self._scaled_by_node and known.feasible.item(row):
                if _fits(asked.of_pods, state, pod, nodes, row):
                    known.rescore_row(row, _score(asked.lasting, state, pod, nodes, row)[0])
                else:
                    known.update_row(row, fits=False, score=0)
                continue
            if not nodes.valid.item(row) or (known.names is not None and nodes.names[row] not in known.names):
                known.update_row(row, fits=False, score=0)
                continue
            if not _fits(asked.filters, state, pod, nodes, row):
                known.update_row(row, fits=False, score=0)
                continue
            score, parts = _score(asked.scores, state, pod, nodes, row)
            known.update_row(row, fits=True, score=score, parts=parts)

    def _ask(self, known: Standing) -> Asked:
        """Find out who has a say."""
        state = known.state
        filters = tuple([each for each in self._filters if each[0] not in state.skip_filter])
        scores = tuple([each for each in self._scores if each[0] not in state.skip_score])
        known.asked = Asked(
            filters,
            scores,
            tuple([each for each in filters if each[0] not in self._by_node]),
            tuple([each for each in scores if each[2] is not None]),
        )
        return known.asked


def _by_node(plugin: Plugin) -> bool:
    return isinstance(plugin, ByNodePlugin) and plugin.by_node


def _fits(filters: Sequence[RowFilter], state: CycleState, pod: Pod, nodes: Nodes, row: int) -> bool:
    name = ""
    try:
        for name, ask in filters:  # noqa: B007 - it names who raises
            if not ask(state, pod, nodes, row):
                return False
    except Exception as error:
        raise as_failure(error, name, "Filter") from error
    return True


def _score(scores: Sequence[RowScore], state: CycleState, pod: Pod, nodes: Nodes, row: int) -> tuple[int, list[int]]:
    """The weighted sum, and what is still to be scaled."""
    total, parts, name = 0, [], ""
    try:
        for name, ask, weight in scores:
            score = ask(state, pod, nodes, row)
            if weight is None:
                parts.append(score)
            elif 0 <= score <= HIGHEST_SCORE:
                total += score * weight
            else:
                _outside(name, score)
    except Exception as error:
        raise as_failure(error, name, "Score") from error
    return total, parts


def _outside(name: str, score: int) -> NoReturn:
    raise PluginFailed(name, "Score", f"score {score} is outside 0 to {HIGHEST_SCORE}")
