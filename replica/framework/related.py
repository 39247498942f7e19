"""What plugins say that look at pods on other nodes: on top of what pods that are alike share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from replica.framework.diagnosis import Diagnosis
from replica.framework.filtering import Trace
from replica.framework.interface import Ranking
from replica.framework.placement import Placement
from replica.framework.scoring import Scores
from replica.framework.status import as_failure

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Flags, Nodes
    from replica.framework.adapter import Weighted
    from replica.framework.cycle_state import CycleState
    from replica.framework.foresight import Foresight
    from replica.framework.interface import Relational
    from replica.framework.passes import Pass
    from replica.framework.runs import Run
    from replica.framework.standing import Standing


class Related:
    """A profile's relational plugins.

    Args:
        run: Makes the pass of those with these names.
        scores: Those of their Score plugins.
        foresight: Finds the best node without a look at all of them, as a rule; None: nobody does.
        last: Do they filter after all others? Then what the others refused has no other reason.
    """

    def __init__(
        self,
        plugins: Iterable[Relational],
        run: Callable[[frozenset[str]], Pass],
        scores: Sequence[Weighted],
        *,
        foresight: Foresight | None,
        last: bool,
    ) -> None:
        self._plugins = tuple(plugins)
        self._make = run
        self._runs: dict[frozenset[str], Pass] = {}
        self._foresight = foresight
        self._last = last
        ranking = [(each.plugin, each.weight) for each in scores if isinstance(each.plugin, Ranking)]
        self._ranking = ranking if len(ranking) == len(scores) else None

    def concerned(self, state: CycleState, pod: Pod, nodes: Nodes) -> frozenset[str]:
        """The names of those that have anything to say of this pod; the others are left out.

        Raises:
            PluginFailed: A plugin is broken.
        """
        concerned = []
        for plugin in self._plugins:
            try:
                concerns = plugin.concerns(pod, nodes)
            except Exception as error:
                raise as_failure(error, plugin.name, "PreFilter") from error
            if concerns:
                concerned.append(plugin.name)
            else:
                state.skip_filter.add(plugin.name)
                state.skip_score.add(plugin.name)
        return frozenset(concerned)

    def foresee(
        self, state: CycleState, pod: Pod, nodes: Nodes, standing: Standing, *, draw: random.Random, run: Run | None
    ) -> Placement | None:
        """The best node for a pod, where that can be told without a look at all of them.

        Args:
            run: The pod's, if it is of one.

        Raises:
            PluginFailed: A plugin is broken.
        """
        if self._foresight is None or standing.diagnosis is not None:
            return None
        return self._foresight.place(state, pod, nodes, standing, draw=draw, run=run)

    def place(
        self,
        state: CycleState,
        pod: Pod,
        nodes: Nodes,
        standing: Standing,
        *,
        concerned: frozenset[str],
        draw: random.Random,
    ) -> Placement | Diagnosis | None:
        """The best node for a pod.

        Args:
            concerned: The names of the plugins to ask.
            standing: How the nodes stand by all other plugins.

        Returns:
            None if nothing is left of what the other plugins leave: then a pass by all plugins tells why.

        Raises:
            PluginFailed: A plugin is broken.
        """
        if standing.diagnosis is not None and not self._last:
            return None
        run = self._runs.get(concerned)
        if run is None:
            run = self._runs[concerned] = self._make(concerned)
        found = run.pre_filter(state, pod, nodes)
        if isinstance(found, Diagnosis) or standing.diagnosis is not None:
            return found if isinstance(found, Diagnosis) else standing.diagnosis
        feasible = run.filtering.filter(state, pod, nodes, Trace(standing.feasible))
        count = standing.count if feasible is standing.feasible else int(np.count_nonzero(feasible))
        if not count:
            return None
        total, offset = standing.totals(feasible)
        more = self._scores(run, state, pod, nodes, feasible)
        total = total + more.total(feasible)
        if count < len(total):
            total = np.where(feasible, total, np.int64(-1))
        best = int(total.max())
        top = np.flatnonzero(total == best)
        row = top.item(draw.randrange(len(top)) if len(top) > 1 else 0)
        return Placement(nodes.names[row], row, count, nodes.count, best + offset + more.offset())

    def _scores(self, run: Pass, state: CycleState, pod: Pod, nodes: Nodes, feasible: Flags) -> Scores:
        """What the plugins add to each row. Their steps are taken one by one where they are timed."""
        if self._ranking is None or state.sampled:
            return run.score(state, pod, nodes, feasible)
        total = np.zeros(nodes.size, np.int64)
        for plugin, weight in self._ranking:
            if plugin.name in state.skip_score:
                continue
            try:
                ranks = plugin.rank(state, pod, nodes, feasible)
            except Exception as error:
                raise as_failure(error, plugin.name, "Score") from error
            if ranks is not None:
                total += ranks * weight
        return Scores(total)
