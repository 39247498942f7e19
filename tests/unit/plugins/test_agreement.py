"""Each vector plugin against the plainest reading of its rule, one node at a time, on drawn clusters that change."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from component import strict
from replica.framework.cycle_state import CycleState
from replica.framework.diagnosis import Diagnosis
from replica.framework.status import Code
from replica.plugins.arguments import (
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
)
from replica.plugins.image_locality import ImageLocality
from replica.plugins.node_affinity import NodeAffinity
from replica.plugins.node_ports import NodePorts
from replica.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from replica.plugins.node_resources_fit import NodeResourcesFit
from replica.plugins.node_unschedulable import NodeUnschedulable
from replica.plugins.taint_toleration import TaintToleration
from tests.harness import plain
from tests.harness.drawn import DrawnCluster
from tests.harness.framework import handle, refusals, runtime_of

ROUNDS = 4
seeds = st.integers(0, 2**40)


def fit(strategy="LeastAllocated", resources=plain.EVEN, shape=()):
    points = [{"utilization": at, "score": score} for at, score in shape]
    scoring = {
        "type": strategy,
        "resources": [{"name": name, "weight": weight} for name, weight in resources.items()],
        **({"requestedToCapacityRatio": {"shape": points}} if points else {}),
    }
    return NodeResourcesFit(strict.decode({"scoringStrategy": scoring}, NodeResourcesFitArgs))


def balanced(*resources):
    named = [{"name": name, "weight": 1} for name in resources]
    return NodeResourcesBalancedAllocation(strict.decode({"resources": named}, NodeResourcesBalancedAllocationArgs))


FILTERS = [
    (NodeUnschedulable(), plain.node_unschedulable),
    (TaintToleration(), plain.taint_toleration),
    (NodeAffinity(NodeAffinityArgs()), plain.node_affinity),
    (NodePorts(), plain.node_ports),
    (fit(), plain.node_resources_fit),
]
MANY = {"cpu": 3, "memory": 1, "ephemeral-storage": 5, "example.com/gpu": 2}
HILL = [(0, 0), (40, 10), (70, 3), (100, 0)]
SCORES = [
    (TaintToleration(), plain.unwelcome_taints),
    (NodeAffinity(NodeAffinityArgs()), plain.preferred_terms),
    (ImageLocality(), plain.image_locality),
    (fit(), plain.fit_score(plain.least, plain.floor_mean, plain.EVEN)),
    (fit("MostAllocated", MANY), plain.fit_score(plain.most, plain.floor_mean, MANY)),
    (
        fit("RequestedToCapacityRatio", MANY, HILL),
        plain.fit_score(plain.curve(HILL), plain.rounded_mean, MANY),
    ),
    (balanced("cpu", "memory"), plain.balanced(("cpu", "memory"))),
    (balanced(*MANY), plain.balanced(tuple(MANY))),
]


def rounds(seed):
    """(cluster, view, pods that ask) each time that the cluster has changed."""
    cluster = DrawnCluster(seed)
    for _ in range(ROUNDS):
        yield cluster, cluster.table.snapshot(), [cluster.ask() for _ in range(2)]
        cluster.change()


def parts(view, draw):
    """A few rows of a view, as they are asked about again."""
    return view.take(sorted(draw.sample(range(view.size), draw.randrange(1, view.size + 1))))


@pytest.mark.parametrize(("plugin", "rule"), FILTERS, ids=lambda each: getattr(each, "name", ""))
@settings(max_examples=80)
@given(seeds)
def test_a_filter_refuses_what_a_plain_reading_refuses(plugin, rule, seed):
    for cluster, view, asks in rounds(seed):
        for ask in asks:
            want = {
                name: sorted(reasons)
                for name, node in cluster.nodes.items()
                if (reasons := rule(ask, node, cluster.on(name)))
            }
            found = refusals(plugin, ask, view)
            assert {name: sorted(reasons) for name, reasons in found.items()} == want
            for name, row in view.index.items():
                assert plugin.filter_row(CycleState(), ask, view, row) == (name not in want)
            part = parts(view, cluster.draw)
            assert set(refusals(plugin, ask, part)) == {name for name in part.names if name in want}


@pytest.mark.parametrize(("plugin", "rule"), SCORES, ids=lambda each: getattr(each, "name", ""))
@settings(max_examples=80)
@given(seeds)
def test_a_score_is_that_of_a_plain_reading(plugin, rule, seed):
    for cluster, view, asks in rounds(seed):
        for ask in asks:
            state = CycleState()
            if hasattr(plugin, "pre_score") and plugin.pre_score(state, ask, view, view.valid).code is Code.SKIP:
                continue
            part = parts(view, cluster.draw)
            scores, of_part = plugin.score(state, ask, view), plugin.score(state, ask, part)
            for name, node in cluster.nodes.items():
                row = view.index[name]
                want = rule(ask, node, cluster.on(name), cluster)
                assert (0 if scores is None else scores[row]) == want
                assert plugin.score_row(state, ask, view, row) == want
                if row in part.part:
                    assert (0 if of_part is None else of_part[part.part.index(row)]) == want


@settings(max_examples=120)
@given(seeds)
def test_all_default_plugins_together_choose_as_a_plain_reading_does(seed):
    cluster = DrawnCluster(seed, roomy=seed % 5 > 0)
    runtime = runtime_of(with_handle=handle(seed=seed % 1000))
    kinds = [cluster.ask() for _ in range(3)]
    for _ in range(12):
        ask = cluster.again(cluster.draw.choice(kinds))
        want = plain.schedule(ask, cluster)
        found = runtime.place(CycleState(), ask, cluster.table.snapshot())
        if isinstance(found, Diagnosis):
            assert found.message == want.message
        else:
            assert found.node_name in want.best
            assert (found.feasible, found.score) == (len(want.scores), max(want.scores.values()))
            if cluster.draw.random() < 0.7:
                cluster.place(found.node_name, ask)
        if cluster.draw.random() < 0.3:
            cluster.change(1)
