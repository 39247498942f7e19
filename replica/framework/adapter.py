"""Runs plugins that look at one node at a time. They come after the vector ones, on what these left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from replica.framework.interface import Normalizer, Refusal, Scaler, ScorePlugin
from replica.framework.node_info import NodeInfo
from replica.framework.status import Code, PluginFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Amounts, Flags, Nodes
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import NodeFilterPlugin, NodeScorePlugin


def filter_one_by_one(
    plugin: NodeFilterPlugin, state: CycleState, pod: Pod, nodes: Nodes, remaining: Flags
) -> tuple[Flags, Sequence[Refusal]]:
    """Ask a plugin about each remaining row.

    Returns:
        bool[size], true where the node passes, and the reasons of those that don't.

    Raises:
        PluginFailed: It answered with an error.
    """
    passed = remaining.copy()
    refused: dict[tuple[str, Code], list[int]] = {}
    for row in np.flatnonzero(remaining).tolist():
        status = plugin.filter_node(state, pod, NodeInfo(nodes, row))
        if status.ok or status.code is Code.SKIP:
            continue
        if not status.rejected:
            raise PluginFailed(plugin.name, "Filter", status.message or status.code.value) from status.error
        passed[row] = False
        for reason in status.reasons or (f"node(s) were refused by {plugin.name}",):
            refused.setdefault((reason, status.code), []).append(row)
    return passed, [Refusal(reason, _rows(rows, nodes.size), code) for (reason, code), rows in refused.items()]


def score_one_by_one(plugin: NodeScorePlugin, state: CycleState, pod: Pod, nodes: Nodes, feasible: Flags) -> Amounts:
    """int64[size]: a plugin's score of each feasible row, 0 elsewhere."""
    scores = np.zeros(nodes.size, np.int64)
    for row in np.flatnonzero(feasible).tolist():
        scores[row] = plugin.score_node(state, pod, NodeInfo(nodes, row))
    return scores


class Weighted:
    """A Score plugin and what its scores are multiplied by."""

    __slots__ = ("normalizer", "one_by_one", "plugin", "scaler", "vector", "weight")

    def __init__(self, plugin: ScorePlugin | NodeScorePlugin, weight: int) -> None:
        self.plugin = plugin
        self.weight = weight
        # Asked once: isinstance of a protocol looks at every member.
        self.vector = plugin if isinstance(plugin, ScorePlugin) else None
        self.one_by_one = None if isinstance(plugin, ScorePlugin) else plugin
        self.normalizer = plugin if isinstance(plugin, Normalizer) else None
        self.scaler = plugin if isinstance(plugin, Scaler) and self.normalizer is None else None

    def score(self, state: CycleState, pod: Pod, nodes: Nodes, feasible: Flags) -> Amounts | None:
        """int64[size]; None where it is 0 for all."""
        if self.vector is not None:
            return self.vector.score(state, pod, nodes)
        if self.one_by_one is not None:
            return score_one_by_one(self.one_by_one, state, pod, nodes, feasible)
        return None


def _rows(rows: list[int], size: int) -> Flags:
    flags = np.zeros(size, np.bool_)
    flags[rows] = True
    return flags
