"""What plugins say that look at pods on other nodes: on top of what pods that are alike share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from replica.framework.diagnosis import Diagnosis
from replica.framework.filtering import Trace
from replica.framework.placement import Placement
from replica.framework.status import as_failure

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

    from replica.api.pods import Pod
    from replica.cache.nodes import Nodes
    from replica.framework.cycle_state import CycleState
    from replica.framework.interface import Relational
    from replica.framework.passes import Pass
    from replica.framework.standing import Standing


class Related:
    """A profile's relational plugins.

    Args:
        run: Their pass.
        last: Do they filter after all others? Then what the others refused has no other reason.
    """

    def __init__(self, plugins: Iterable[Relational], run: Pass, *, last: bool) -> None:
        self._plugins = tuple(plugins)
        self._run = run
        self._last = last

    def concerns(self, state: CycleState, pod: Pod, nodes: Nodes) -> bool:
        """Has any of them anything to say of this pod? Those that haven't are left out.

        Raises:
            PluginFailed: A plugin is broken.
        """
        concerned = False
        for plugin in self._plugins:
            try:
                concerns = plugin.concerns(pod, nodes)
            except Exception as error:
                raise as_failure(error, plugin.name, "PreFilter") from error
            concerned |= concerns
            if not concerns:
                state.skip_filter.add(plugin.name)
                state.skip_score.add(plugin.name)
        return concerned

    def place(
        self, state: CycleState, pod: Pod, nodes: Nodes, standing: Standing, draw: random.Random
    ) -> Placement | Diagnosis | None:
        """The best node for a pod.

        Args:
            standing: How the nodes stand by all other plugins.

        Returns:
            None if nothing is left of what the other plugins leave: then a pass by all plugins tells why.

        Raises:
            PluginFailed: A plugin is broken.
        """
        if standing.diagnosis is not None and not self._last:
            return None
        found = self._run.pre_filter(state, pod, nodes)
        if isinstance(found, Diagnosis) or standing.diagnosis is not None:
            return found if isinstance(found, Diagnosis) else standing.diagnosis
        feasible = self._run.filtering.filter(state, pod, nodes, Trace(standing.feasible))
        count = standing.count if feasible is standing.feasible else int(np.count_nonzero(feasible))
        if not count:
            return None
        total, offset = standing.totals(feasible)
        more = self._run.score(state, pod, nodes, feasible)
        total = total + more.total(feasible)
        if count < len(total):
            total = np.where(feasible, total, np.int64(-1))
        best = int(total.max())
        top = np.flatnonzero(total == best).tolist()
        row = top[draw.randrange(len(top))] if len(top) > 1 else top[0]
        return Placement(nodes.names[row], row, count, nodes.count, best + offset + more.offset())
