"""PodTopologySpread and InterPodAffinity against the plainest reading of their rules, on drawn clusters that change."""

from __future__ import annotations

import random

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from component import strict
from replica.framework.cycle_state import CycleState
from replica.framework.diagnosis import Diagnosis
from replica.framework.interface import Handle
from replica.framework.status import Code
from replica.framework.waiting import WaitingPods
from replica.framework.what_if import what_if
from replica.plugins.arguments import InterPodAffinityArgs, PodTopologySpreadArgs
from replica.plugins.inter_pod_affinity import InterPodAffinity
from replica.plugins.namespaces import NamespaceLabels
from replica.plugins.pod_topology_spread import PodTopologySpread
from tests.harness import plain_neighbours as plain
from tests.harness.clock import ManualClock
from tests.harness.framework import runtime_of, table_of
from tests.harness.neighbours import HOSTNAME, ZONE, DrawnCrowd, affinity, constraint, near, neighbour
from tests.harness.objects import node

ROUNDS = 2
seeds = st.integers(0, 2**40)
LIST = {
    "defaultingType": "List",
    "defaultConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"},
        {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway"},
    ],
}
SPREADS = [{}, LIST]
AFFINITIES = [
    {},
    {"hardPodAffinityWeight": 0},
    {"hardPodAffinityWeight": 50, "ignorePreferredTermsOfExistingPods": True},
]


def spread_of(args):
    return PodTopologySpread(strict.decode(args, PodTopologySpreadArgs))


def affinity_of(crowd, args):
    return InterPodAffinity(strict.decode(args, InterPodAffinityArgs), NamespaceLabels(crowd.namespaces))


def rounds(seed):
    """(cluster, view, pods that ask) each time that the cluster has changed."""
    crowd = DrawnCrowd(seed)
    for _ in range(ROUNDS):
        yield crowd, crowd.table.snapshot(), [crowd.ask() for _ in range(2)]
        crowd.change()


def refused(plugin, state, ask, nodes):
    """Node -> the one reason, of those refused."""
    verdict = plugin.filter(state, ask, nodes)
    found = {}
    if verdict is not None:
        reasons = plugin.explain(state, ask, nodes)
        for row, name in enumerate(nodes.names):
            if nodes.valid[row] and not verdict[row]:
                (found[name],) = [refusal.reason for refusal in reasons if refusal.rows[row]]
    return found


def check_filter(plugin, rule, crowd, view, ask):
    state = CycleState()
    skip = plugin.pre_filter(state, ask, view).status.code is Code.SKIP
    want = rule(ask, crowd)
    assert refused(plugin, state, ask, view) == want
    assert not (skip and want)
    rows = sorted(crowd.draw.sample(range(view.size), crowd.draw.randrange(1, view.size + 1)))
    part = view.take(rows)
    assert refused(plugin, state, ask, part) == {name: want[name] for name in part.names if name in want}
    if not skip:
        check_dry_run(plugin, rule, crowd, (view, ask), state)


def check_dry_run(plugin, rule, crowd, asked, state):
    """As preemption and promises do: some pods go from a node, others come, and the state is brought up to date."""
    view, ask = asked
    name = crowd.draw.choice(sorted(crowd.nodes))
    row, there = view.index[name], crowd.on(name)
    gone = crowd.draw.sample(there, crowd.draw.randrange(len(there) + 1))
    more = [crowd.ask() for _ in range(crowd.draw.randrange(3))]
    dry = state.clone()
    part = what_if(view, row, more=more, fewer=gone)
    for each in gone:
        assert plugin.remove_pod(dry, ask, each, part).ok
    for each in more:
        assert plugin.add_pod(dry, ask, each, part).ok
    before = dict(crowd.placed)
    for each in gone:
        del crowd.placed[each.uid]
    crowd.placed.update((each.uid, (name, each)) for each in more)
    want = {refusing: reason for refusing, reason in rule(ask, crowd).items() if refusing == name}
    crowd.placed = before
    assert refused(plugin, dry, ask, part) == want
    assert refused(plugin, state, ask, view) == rule(ask, crowd)


def spread_filter_agrees(args, seed):
    plugin = spread_of(args)
    defaults = strict.decode(args, PodTopologySpreadArgs).default_constraints
    for crowd, view, asks in rounds(seed):
        for ask in asks:
            check_filter(plugin, lambda pod, at: plain.spread_refusals(pod, at, defaults), crowd, view, ask)


def affinity_filter_agrees(seed):
    plugin = None
    for crowd, view, asks in rounds(seed):
        plugin = plugin or affinity_of(crowd, {})
        for ask in asks:
            check_filter(plugin, plain.affinity_refusals, crowd, view, ask)
            if not plugin.concerns(ask, view):
                assert plain.affinity_refusals(ask, crowd) == {}


def scored(plugin, ask, view, feasible):
    """Node -> score, normalized, of the feasible rows; None where the plugin is left out."""
    state = CycleState()
    if plugin.pre_score(state, ask, view, feasible).code is Code.SKIP:
        assert plugin.rank(state, ask, view, feasible) is None
        return None
    found = plugin.normalize(state, ask, plugin.score(state, ask, view), feasible)
    assert plugin.rank(state, ask, view, feasible)[feasible].tolist() == found[feasible].tolist()
    return {name: int(found[row]) for name, row in view.index.items() if feasible[row]}


def drawn_feasible(crowd, view):
    feasible = view.valid.copy()
    for row in range(view.size):
        if crowd.draw.random() < 0.2:
            feasible[row] = False
    return feasible, {name: crowd.nodes[name] for name, row in view.index.items() if feasible[row]}


def spread_scores_agree(args, seed):
    plugin = spread_of(args)
    decoded = strict.decode(args, PodTopologySpreadArgs)
    defaults = plugin.constraints(neighbour(owner="r"))
    for crowd, view, asks in rounds(seed):
        for ask in asks:
            feasible, nodes = drawn_feasible(crowd, view)
            want = plain.spread_scores(ask, crowd, nodes, defaults, by_system=decoded.defaulting_type == "System")
            assert scored(plugin, ask, view, feasible) == want


def affinity_scores_agree(args, seed):
    plugin = None
    for crowd, view, asks in rounds(seed):
        plugin = plugin or affinity_of(crowd, args)
        for ask in asks:
            feasible, nodes = drawn_feasible(crowd, view)
            want = plain.affinity_scores(
                ask,
                crowd,
                nodes,
                hard=args.get("hardPodAffinityWeight", 1),
                ignore=args.get("ignorePreferredTermsOfExistingPods", False),
            )
            assert (scored(plugin, ask, view, feasible) or dict.fromkeys(nodes, 0)) == want


def sharing_is_exact(seed, *, whole=False):
    """How many pods got a node, and how many of them without a look at all nodes."""
    crowd = DrawnCrowd(seed, whole=whole)
    shared, alone = (
        Handle(ManualClock(), random.Random(seed), WaitingPods(), listers={"Namespace": crowd.namespaces})  # noqa: S311
        for _ in range(2)
    )
    runtime, evaluator = runtime_of(with_handle=shared), runtime_of(with_handle=alone)._evaluator
    kinds = [crowd.ask() for _ in range(3)]
    foresight = runtime._evaluator._related._foresight
    foreseen, placed = watched(foresight), 0
    for _ in range(12):
        ask, view = crowd.again(crowd.draw.choice(kinds)), crowd.table.snapshot()
        alone.draw.setstate(shared.draw.getstate())
        found = runtime.place(CycleState(sampled=crowd.draw.random() < 0.3), ask, view)
        want = evaluator.place(CycleState(), ask, view)
        if isinstance(want, Diagnosis):
            assert (found.message, found.plugins, found.counts) == (want.message, want.plugins, want.counts)
            assert (found.resolvable is None) == (want.resolvable is None)
            assert found.resolvable is None or found.resolvable.tolist() == want.resolvable.tolist()
        else:
            assert found.feasible == want.feasible
            assert want.feasible == 1 or found.score == want.score
            if plain_kind(runtime, ask, view):
                assert found.node_name == want.node_name
            placed += 1
            if crowd.draw.random() < 0.7:
                crowd.place(found.node_name, ask)
        if crowd.draw.random() < 0.4:
            crowd.change(1)
    return placed, sum(foreseen)


def watched(foresight):
    """Whether each pod's place was foreseen, as it goes."""
    place, foreseen = foresight.place, []

    def told(*args, **fields):
        found = place(*args, **fields)
        foreseen.append(found is not None)
        return found

    foresight.place = told
    return foreseen


def plain_kind(runtime, ask, view):
    """Is it one that relational plugins look at? Ties of others are drawn in an order of their own."""
    return bool(runtime._evaluator._related.concerned(CycleState(), ask, view))


@pytest.mark.parametrize("args", SPREADS, ids=["system", "list"])
@settings(max_examples=25)
@given(seeds)
def test_spread_refuses_what_a_plain_reading_refuses(args, seed):
    spread_filter_agrees(args, seed)


@settings(max_examples=40)
@given(seeds)
def test_affinity_refuses_what_a_plain_reading_refuses(seed):
    affinity_filter_agrees(seed)


@pytest.mark.parametrize("args", SPREADS, ids=["system", "list"])
@settings(max_examples=25)
@given(seeds)
def test_spread_scores_as_a_plain_reading_does(args, seed):
    spread_scores_agree(args, seed)


@pytest.mark.parametrize("args", AFFINITIES, ids=["default", "no weight", "ignoring"])
@settings(max_examples=25)
@given(seeds)
def test_affinity_scores_as_a_plain_reading_does(args, seed):
    affinity_scores_agree(args, seed)


@settings(max_examples=40)
@given(seeds)
def test_sharing_the_rest_chooses_as_a_pass_by_all_plugins_does(seed):
    sharing_is_exact(seed)


@settings(max_examples=40)
@given(seeds)
def test_what_is_foreseen_is_what_a_pass_over_all_nodes_finds(seed):
    sharing_is_exact(seed, whole=True)


def test_most_places_are_foreseen_where_nodes_have_their_labels():
    told = [sharing_is_exact(seed, whole=True) for seed in range(12)]
    placed, foreseen = (sum(each[index] for each in told) for index in range(2))
    assert placed / 2 < foreseen <= placed


def sized(number, *, soft, cordoned=False):
    """One of nodes in three zones; some may be worse than others: those of zone 0 least, but for n0, which is worst."""
    labels = {"zone": str(number % 3), ZONE: str(number % 3), HOSTNAME: f"n{number}"}
    worse = ((2 + number % 2, 1)[number % 3 == 0] if number else 6) if soft else 0
    taints = tuple({"key": f"k{each}", "value": "", "effect": "PreferNoSchedule"} for each in range(worse))
    room = {"cpu": "8", "memory": "16Gi", "pods": 40}
    return node(f"n{number}", labels=labels, taints=taints, allocatable=room, unschedulable=cordoned)


@pytest.mark.parametrize(("soft", "most"), [(False, 100), (True, 40)], ids=["all alike", "some worse"])
def test_many_of_few_kinds_get_the_very_places_that_they_would_get_one_by_one(soft, most):
    table = table_of([sized(number, soft=soft) for number in range(48)])
    shared, alone = (Handle(ManualClock(), random.Random(1), WaitingPods()) for _ in range(2))  # noqa: S311
    runtime, evaluator = runtime_of(with_handle=shared), runtime_of(with_handle=alone)._evaluator
    foreseen, requests = watched(runtime._evaluator._related._foresight), {"cpu": "100m", "memory": "100Mi"}
    kinds = [
        neighbour(
            labels={"app": "a"}, topologySpreadConstraints=[constraint(), constraint(HOSTNAME)], requests=requests
        ),
        neighbour(labels={"app": "b"}, owner="r", requests=requests),
        neighbour(labels={"app": "c"}, owner="s", affinity=away("c"), requests=requests),
        neighbour(labels={"app": "d"}, affinity={"podAffinity": affinity(near(labelSelector=None))}, requests=requests),
        neighbour(requests=requests),
    ]
    placed = []
    for number in range(130):
        ask, view = msgspec.structs.replace(kinds[number // 3 % len(kinds)], uid=f"u{number}"), table.snapshot()
        alone.draw.setstate(shared.draw.getstate())
        found, want = (
            runtime.place(CycleState(sampled=number % 10 == 0), ask, view),
            evaluator.place(CycleState(), ask, view),
        )
        assert getattr(found, "node_name", found) == getattr(want, "node_name", found), number
        assert isinstance(found, Diagnosis) or (found.score, found.feasible) == (want.score, want.feasible)
        if not isinstance(found, Diagnosis):
            table.add_pod(found.node_name, ask)
            placed.append((found.node_name, ask.uid))
        if number % 4 == 3:
            table.remove_pod(*placed.pop(-2))
        if number == 60:
            table.set_node(sized(0, soft=soft, cordoned=True))
    assert sum(foreseen) > most


@settings(max_examples=25)
@given(seeds)
def test_what_is_told_by_domains_is_what_columns_say(seed):
    crowd = DrawnCrowd(seed, whole=True)
    for args in SPREADS:
        plugin = spread_of(args)
        for ask in (crowd.ask(), crowd.ask(), neighbour(owner="r")):
            view = crowd.table.snapshot()
            if (told := plugin.outlook(ask, view)) is not None:
                check_outlook(plugin, told, ask, view)


def test_a_domain_whose_nodes_all_have_pods_of_their_own_is_not_compared_by_itself():
    nodes, there = (sized(number, soft=False) for number in range(2)), ("n0", "n1", "n1")
    view = table_of(nodes, [(name, neighbour(owner="r")) for name in there]).snapshot()
    plugin, ask = spread_of({}), neighbour(owner="r")
    check_outlook(plugin, plugin.outlook(ask, view), ask, view)


def check_outlook(plugin, told, ask, view):
    state = CycleState()
    plugin.pre_filter(state, ask, view)
    verdict = plugin.filter(state, ask, view)
    ids = [0] * view.size if told.domains is None else told.domains.ids.tolist()
    free = [
        (told.allowed is None or told.allowed[ids[row]])
        and not any(tally.amounts.get(row, 0) > most and tally.domains.counted[row] for tally, most in told.bars)
        for row in range(view.size)
    ]
    feasible = view.valid if verdict is None else view.valid & verdict
    rows = np.flatnonzero(view.valid).tolist()
    assert [free[row] for row in rows] == feasible[rows].tolist()
    ranks = plugin.rank(CycleState(), ask, view, feasible) if feasible.any() else None
    if ranks is None:
        assert told.rank is None or not feasible.any()
        return
    apart = {}
    for row, amount in told.rank.rows.items():
        if row < view.size and feasible[row]:
            apart.setdefault((ids[row], amount), []).append(row)
    members = np.bincount(told.domains.ids[: view.size][feasible], minlength=told.domains.values + 1).tolist()
    scores, others = told.rank.rank(members, apart)
    found = {row: scores[ids[row]] for row in rows if feasible[row]}
    found |= {row: score for those, score in zip(apart.values(), others, strict=True) for row in those}
    assert found == {row: ranks.item(row) for row in rows if feasible[row]}


def away(app):
    return {"podAntiAffinity": affinity(near(HOSTNAME, labelSelector={"matchLabels": {"app": app}}))}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@settings(max_examples=1000)
@given(seeds)
def test_thousands_of_clusters(seed):
    """Each seed draws six: one for each of the rules above."""
    spread_filter_agrees(SPREADS[seed % 2], seed)
    affinity_filter_agrees(seed + 1)
    spread_scores_agree(SPREADS[seed % 2], seed + 2)
    affinity_scores_agree(AFFINITIES[seed % 3], seed + 3)
    sharing_is_exact(seed + 4)
    sharing_is_exact(seed + 5, whole=True)
