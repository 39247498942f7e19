"""The best node for a pod by what relational plugins say of domains: without a look at all nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replica.framework.choice import NOBODY, Ranked, choose
from replica.framework.outlook import NOTHING, NOTHING_NOW, Foresighted, Outlook, Told
from replica.framework.placement import Placement
from replica.framework.shelves import Shelves
from replica.framework.status import as_failure

if TYPE_CHECKING:
    import random
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Nodes
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Relational
    from replica.framework.metrics import FrameworkMetrics
    from replica.framework.outlook import Ranker
    from replica.framework.runs import Run
    from replica.framework.shelves import Shelf
    from replica.framework.standing import Standing


class Foresight:
    """A profile's relational plugins, where all of them are `Foresighted`.

    What it finds is what a pass over all nodes finds, ties included; where it can't, it says so.

    Args:
        filtering: The names of the plugins that filter.
        weights: Of those that score.
    """

    def __init__(
        self,
        plugins: Iterable[Foresighted],
        *,
        filtering: Collection[str],
        weights: Mapping[str, int],
        metrics: FrameworkMetrics,
    ) -> None:
        self._plugins = tuple((each, each.name in filtering, weights.get(each.name, 0)) for each in plugins)
        self._metrics = metrics
        self._shelves = Shelves()

    @classmethod
    def of(
        cls,
        plugins: Sequence[Relational],
        *,
        filtering: Collection[str],
        weights: Mapping[str, int],
        metrics: FrameworkMetrics,
    ) -> Foresight | None:
        """None where some plugin can't tell things so."""
        able = [each for each in plugins if isinstance(each, Foresighted)]
        if len(able) < len(plugins):
            return None
        return cls(able, filtering=filtering, weights=weights, metrics=metrics)

    def place(
        self,
        state: CycleState,
        pod: Pod,
        nodes: Nodes,
        standing: Standing,
        *,
        draw: random.Random,
        run: Run | None = None,
    ) -> Placement | None:
        """The best node for a pod; None if there is none, or all nodes must be looked at to know.

        Args:
            standing: How the nodes stand by all other plugins; some are feasible.
            run: The pod's: what lasts of it is taken from there, and left there for those who follow.

        Raises:
            PluginFailed: A plugin is broken.
        """
        found = None if run is None or state.sampled else run.told(nodes.census)
        if found is None:
            found = self._outlook(state, pod, nodes)
            if found is None:
                return None
            if run is not None:
                run.hear(found, nodes.census)
        told, weight, _ = found
        if told is NOTHING:
            return _chosen(standing, nodes, draw)
        shelf = self._shelves.get(standing, told.domains, told.bars, nodes)
        members = shelf.members
        if told.allowed is not None:
            members = [count if may else 0 for count, may in zip(members, told.allowed, strict=True)]
        count = sum(members)
        if not count or not (count == standing.count or standing.steady):
            return None
        if told.rank is None:
            ranked = Ranked(members, [0] * len(members), NOBODY, (), 0)
        else:
            ranked = self._ranked(state, shelf, members, (told.rank, weight), nodes)
        row, score = choose(shelf, ranked, draw)
        return Placement(nodes.names[row], row, count, nodes.count, score + standing.offset)

    def _outlook(self, state: CycleState, pod: Pod, nodes: Nodes) -> Told | None:
        told, weighed, lasting = NOTHING, 0, True
        began = self._metrics.begin(state)
        for plugin, filters, weight in self._plugins:
            start = self._metrics.begin(state) if state.sampled else 0.0
            try:
                more = plugin.outlook(pod, nodes)
            except Exception as error:
                raise as_failure(error, plugin.name, "Filter") from error
            if more is None:
                return None
            self._metrics.plugin(plugin.name, "Filter", "Success", start)
            lasting = lasting and more.lasting
            if more is NOTHING or more is NOTHING_NOW:
                continue
            if more.rank is not None and weight:
                weighed = weight
            joined = _joined(told, _cut(more, filters=filters, scores=bool(weight)))
            if joined is None:
                return None
            told = joined
        self._metrics.point("Filter", "Success", began)
        return Told(told, weighed, lasting)

    def _ranked(
        self, state: CycleState, shelf: Shelf, members: Sequence[int], told: tuple[Ranker, int], nodes: Nodes
    ) -> Ranked:
        """How much domains, and the rows apart, score on top of what the shelf knows.

        Args:
            members: By domain, the rows that are feasible; some are.
        """
        ranker, weight = told
        start = self._metrics.begin(state)
        apart = shelf.apart(ranker.rows, nodes)
        if members is not shelf.members:
            apart = {each: rows for each, rows in apart.items() if members[each[0]]}
        by_domain, others = ranker.rank(members, apart)
        self._metrics.point("Score", "Success", start)
        return Ranked(members, by_domain, apart, others, weight)


def _chosen(standing: Standing, nodes: Nodes, draw: random.Random) -> Placement | None:
    """The best node where no plugin has anything to say."""
    row = standing.choose(draw)
    if row is None:
        return None
    return Placement(nodes.names[row], row, standing.count, nodes.count, standing.score(row))


def _cut(told: Outlook, *, filters: bool, scores: bool) -> Outlook:
    """As much of it as the profile has the plugin for."""
    if filters and (scores or told.rank is None):
        return told
    rank = told.rank if scores else None
    if filters:
        return Outlook(told.domains, allowed=told.allowed, bars=told.bars, rank=rank)
    return Outlook(told.domains, rank=rank)


def _joined(one: Outlook, other: Outlook) -> Outlook | None:
    """Both; None where they tell nodes apart by two topologies, or both score them."""
    if one is NOTHING:
        return other
    if one.rank is not None and other.rank is not None:
        return None
    if None not in (one.domains, other.domains) and one.domains is not other.domains:
        return None
    found = Outlook(
        one.domains or other.domains, allowed=one.allowed, bars=one.bars + other.bars, rank=one.rank or other.rank
    )
    if other.domains is not None and other.allowed is not None:
        found.refuse(other.domains, other.allowed)
    return found
