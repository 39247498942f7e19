"""From a pod to the node that it should have: PreFilter, Filter, PreScore, Score, NormalizeScore, and the choice."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from replica.framework.by_row import ByRow
from replica.framework.crowded import Crowded
from replica.framework.cycle_state import CycleState
from replica.framework.diagnosis import Diagnosis
from replica.framework.filtering import Trace
from replica.framework.foresight import Foresight
from replica.framework.interface import FilterPlugin, NodesWiderPlugin, Relational, WiderPlugin
from replica.framework.passes import Pass
from replica.framework.placement import Placement
from replica.framework.related import Related
from replica.framework.runs import Run
from replica.framework.standing import KEPT, Standing, Standings
from replica.framework.status import as_failure

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Hashable, Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Nodes
    from replica.framework.adapter import Weighted
    from replica.framework.extenders import Extenders
    from replica.framework.interface import NodeFilterPlugin, PreFilterPlugin, PreScorePlugin
    from replica.framework.metrics import FrameworkMetrics
    from replica.framework.promises import Promised, Promises
    from replica.framework.sampling import Sampling


MOST_BY_ROW = 8
"""Changed rows that are asked about one by one; more of them are cheaper as a column."""


class Evaluator:
    """Runs a profile's plugins over all nodes. Filter stops for a node at its first refusal.

    A plugin that raises, or answers with a column of another shape or out of range, ends the evaluation with
    `PluginFailed`.
    """

    def __init__(
        self,
        *,
        pre_filters: Sequence[PreFilterPlugin],
        filters: Sequence[FilterPlugin | NodeFilterPlugin],
        pre_scores: Sequence[PreScorePlugin],
        scores: Sequence[Weighted],
        sampling: Sampling,
        promises: Promises,
        extenders: Extenders,
        draw: random.Random,
        metrics: FrameworkMetrics,
    ) -> None:
        self._sampling = sampling
        self._promises = promises
        self._extenders = extenders
        asked = {each.name: each for each in (*pre_filters, *filters, *pre_scores, *(each.plugin for each in scores))}
        relational = {name: each for name, each in asked.items() if isinstance(each, Relational)}

        def run(wanted: Callable[[str], bool]) -> Pass:
            return Pass(
                pre_filters=[each for each in pre_filters if wanted(each.name)],
                filters=[each for each in filters if wanted(each.name)],
                pre_scores=[each for each in pre_scores if wanted(each.name)],
                scores=[each for each in scores if wanted(each.plugin.name)],
                metrics=metrics,
            )

        self._whole = run(lambda _name: True)
        self.filtering = self._whole.filtering
        self._shared = run(lambda name: name not in relational)
        shared = [each for each in filters if each.name not in relational]
        filtering = {each.name for each in filters} & {each.name for each in pre_filters}
        self._related = Related(
            relational.values(),
            lambda names: run(lambda name: name in names),
            [each for each in scores if each.plugin.name in relational],
            foresight=Foresight.of(
                tuple(relational.values()),
                filtering=filtering,
                weights={each.plugin.name: each.weight for each in scores},
                metrics=metrics,
            ),
            last=all(isinstance(each, FilterPlugin) for each in shared)
            and all(each.name in relational for each in filters[len(shared) :]),
        )
        self._wider = tuple(each for each in asked.values() if isinstance(each, WiderPlugin))
        # Others are to be asked before each pod, whatever was found for the one before.
        self._runs = not len(extenders) and all(
            isinstance(each, NodesWiderPlugin) and each.across_nodes for each in self._wider
        )
        self._run: Run | None = None
        self._looking_around = frozenset(each.name for each in filters if each.name in relational)
        self._standings = Standings()
        self._crowded: OrderedDict[Hashable, Crowded] = OrderedDict()
        self._by_row = ByRow.of(shared, [each for each in scores if each.plugin.name not in relational])
        self._draw = draw

    def place(
        self, state: CycleState, pod: Pod, nodes: Nodes, signature: Hashable | None = None
    ) -> Placement | Diagnosis:
        """The best node for a pod, or why there is none.

        Args:
            signature: Pods of one signature share an evaluation as far as `across` agrees; None: this one doesn't.

        Raises:
            PluginFailed: A plugin is broken.
        """
        followed = self._follow(state, pod, nodes, signature)
        if followed is not None:
            return followed
        self._run = None
        if not nodes.count:
            return Diagnosis(0)
        promised, own = self._promises.heeded(pod, nodes), self._promises.own(pod, nodes)
        heeds = bool(promised)
        extended = bool(len(self._extenders)) and self._extenders.look_at(pod)
        key = None if signature is None else (signature, self.across(pod, nodes))
        crowded = self._crowded_for(key, nodes.size) if heeds else None
        if heeds or own is not None or extended or self._sampling.applies(nodes.count):
            key = None  # what is found depends on more than the nodes
        try:
            known = self._standings.get(key) if key is not None else None
        except TypeError:  # what has no hash can't be told from others
            known = key = None
        if key is None:
            standing = self._evaluate(self._whole, state, pod, nodes, promised=promised, own=own, crowded=crowded)
            return self._chosen(standing, nodes)
        lasts = True
        if known is None or not self._renew(known, pod, nodes) or (not known.count and known.diagnosis is None):
            # Of its own, since others will have it too.
            apart = CycleState(sampled=state.sampled)
            known = self._evaluate(self._shared, apart, pod, nodes, shared=True)
            lasts = self._shared.scoring.lasts(apart)
            if lasts:
                self._standings.put(key, known)
        state.adopt(known.state)
        run = Run(pod, nodes, signature, known) if lasts and self._runs else None
        foreseen = self._related.foresee(state, pod, nodes, known, draw=self._draw, run=run)
        if foreseen is not None:
            self._run = run
            return foreseen
        return self._look_around(state, pod, nodes, known)

    def _look_around(self, state: CycleState, pod: Pod, nodes: Nodes, known: Standing) -> Placement | Diagnosis:
        """The best node by what relational plugins say, too, with a look at all nodes."""
        concerned = self._related.concerned(state, pod, nodes)
        if not concerned:
            return self._chosen(known, nodes)
        found = self._related.place(state, pod, nodes, known, concerned=concerned, draw=self._draw)
        if found is None:
            standing = self._evaluate(self._whole, state, pod, nodes)
            return standing.diagnosis or Diagnosis(nodes.count)
        return found

    def _follow(self, state: CycleState, pod: Pod, nodes: Nodes, signature: Hashable | None) -> Placement | None:
        """The node of a pod that goes on with a run; None if it doesn't, or its place can't be told so."""
        run = self._run
        if run is None or not run.takes(pod, nodes, signature) or self._promises.any:
            return None
        standing = run.standing
        if not self._renew(standing, pod, nodes) or not standing.count:
            return None
        state.adopt(standing.state)
        return self._related.foresee(state, pod, nodes, standing, draw=self._draw, run=run)

    def _chosen(self, standing: Standing, nodes: Nodes) -> Placement | Diagnosis:
        row = standing.choose(self._draw)
        if standing.diagnosis is not None or row is None:
            return standing.diagnosis or Diagnosis(nodes.count)
        return Placement(nodes.names[row], row, standing.count, nodes.count, standing.score(row))

    def _evaluate(
        self,
        run: Pass,
        state: CycleState,
        pod: Pod,
        nodes: Nodes,
        *,
        promised: Promised | None = None,
        own: int | None = None,
        shared: bool = False,
        crowded: Crowded | None = None,
    ) -> Standing:
        """A pass over all nodes. What is shared is scored even if there is one feasible node and no choice.

        Args:
            promised: The room that this one must leave alone.
            own: The row that was promised to the pod itself: if it can go there, it does.
            crowded: How promised rows stand for pods that are alike.
        """
        found = run.pre_filter(state, pod, nodes)
        if isinstance(found, Diagnosis):
            return Standing(pod, state, nodes=nodes, diagnosis=found)
        names, narrowed_by = found
        trace = Trace(nodes.valid if names is None else nodes.valid & nodes.named(names), narrowed_by)
        if own is not None and trace.allowed[own]:
            feasible = run.filtering.fits_own(state, pod, nodes, own, promised)
            if feasible is not None:
                feasible = self._extenders.filter(pod, nodes, feasible, trace)
            if feasible is not None and feasible.any():
                return Standing(pod, state, nodes=nodes, names=names, feasible=feasible)
        feasible = run.filtering.filter(state, pod, nodes, trace)
        if promised is not None:
            known = crowded if self.alone(state) else None
            feasible = run.filtering.leave_promised(
                state, pod, nodes, feasible, promised=promised, trace=trace, known=known
            )
        feasible = self._sampling.cut(feasible, nodes.count)
        feasible = self._extenders.filter(pod, nodes, feasible, trace)
        count = int(np.count_nonzero(feasible))
        if not count:
            found = run.filtering.diagnose(state, pod, nodes, trace)
            return Standing(pod, state, nodes=nodes, diagnosis=found)
        scores = None
        if count > 1 or shared:
            scores = run.score(state, pod, nodes, feasible)
            self._extenders.score(pod, nodes, feasible, scores)
        return Standing(pod, state, nodes=nodes, names=names, feasible=feasible, scores=scores)

    def _renew(self, known: Standing, pod: Pod, nodes: Nodes) -> bool:
        """Ask again about the rows that changed since; False when a pass over all nodes is the better way."""
        changed = nodes.changes.since(known.serial)
        if changed is None or len(changed) > max(1, nodes.size // 8):
            return False
        if changed:
            if known.diagnosis is not None:
                return False
            # Who came first may have another `across` by now: with this pod, what changed is as its kind has it.
            known.pod = pod
            rows = sorted(changed)
            if self._by_row is not None and len(rows) <= MOST_BY_ROW:
                changed_too = known.node_serial != nodes.facts.changes.serial
                self._by_row.update(known, nodes, rows, nodes_changed=changed_too)
                known.serial, known.node_serial = nodes.changes.serial, nodes.facts.changes.serial
                return True
            part = nodes.take(rows)
            trace = Trace(part.valid if known.names is None else part.valid & part.named(known.names))
            feasible = self._shared.filtering.filter(known.state, known.pod, part, trace)
            known.update(rows, feasible, self._shared.scoring.score(known.state, known.pod, part, feasible))
        known.serial, known.node_serial = nodes.changes.serial, nodes.facts.changes.serial
        return True

    def alone(self, state: CycleState) -> bool:
        """After PreFilter: does no Filter that looks at pods on other nodes have a say about the pod?"""
        return self._looking_around <= state.skip_filter

    def _crowded_for(self, key: Hashable | None, size: int) -> Crowded | None:
        """What is known of promised rows for pods with this key."""
        if key is None:
            return None
        try:
            found = self._crowded.get(key)
        except TypeError:  # what has no hash can't be told from others
            return None
        if found is None or found.size != size:
            found = self._crowded[key] = Crowded(size)
        self._crowded.move_to_end(key)
        if len(self._crowded) > KEPT:
            self._crowded.popitem(last=False)
        return found

    def across(self, pod: Pod, nodes: Nodes) -> tuple[Hashable, ...]:
        """What plugins look at beyond the node that they judge.

        Raises:
            PluginFailed: A plugin is broken.
        """
        found = []
        for plugin in self._wider:
            try:
                found.append(plugin.across(pod, nodes))
            except Exception as error:
                raise as_failure(error, plugin.name, "Filter") from error
        return tuple(found)
