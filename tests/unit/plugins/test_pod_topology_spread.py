from __future__ import annotations

import pytest

from component import strict
from replica.framework.cycle_state import CycleState
from replica.framework.interface import HIGHEST_SCORE
from replica.framework.status import Code
from replica.plugins.arguments import PodTopologySpreadArgs
from replica.plugins.pod_topology_spread import REASON, REASON_NO_LABEL, PodTopologySpread
from replica.queue.hints import Hint
from tests.harness.framework import message_of, runtime_of, table_of
from tests.harness.neighbours import HOSTNAME, ZONE, constraint, neighbour
from tests.harness.objects import node

PLUGIN = PodTopologySpread(PodTopologySpreadArgs())
A, B = {"app": "a"}, {"app": "b"}


def at(name, zone=None, **labels):
    """A node with a hostname, and a zone unless it is in none."""
    return node(name, labels={HOSTNAME: name, **({"zone": zone} if zone else {}), **labels})


FOUR = [at("a", "1"), at("b", "1"), at("c", "2"), at("d", "2")]


def placed(**counts):
    """Pods of `app: a` by node."""
    return [(name, neighbour(labels=A)) for name, count in counts.items() for _ in range(count)]


def spread(*constraints, labels=None, **fields):
    return neighbour("q", A if labels is None else labels, topologySpreadConstraints=list(constraints), **fields)


def passed(ask, nodes, there=(), plugin=PLUGIN):
    view, state = table_of(nodes, there).snapshot(), CycleState()
    plugin.pre_filter(state, ask, view)
    verdict = plugin.filter(state, ask, view)
    return "".join(sorted(name for name, row in view.index.items() if verdict is None or verdict[row]))


def deleting(name):
    return name, neighbour(labels=A, deleting=True)


@pytest.mark.parametrize(
    ("ask", "there", "names"),
    [
        pytest.param(spread(constraint()), placed(), "abcd", id="nobody there"),
        pytest.param(spread(constraint()), placed(a=1), "cd", id="the emptier zone"),
        pytest.param(spread(constraint()), placed(a=1, c=1), "abcd", id="as many in each"),
        pytest.param(spread(constraint(skew=2)), placed(a=1), "abcd", id="a wider skew"),
        pytest.param(spread(constraint(skew=2)), placed(a=2), "cd", id="a wider skew used up"),
        pytest.param(spread(constraint(HOSTNAME)), placed(a=1, b=1, c=1), "d", id="over nodes"),
        pytest.param(spread(constraint(HOSTNAME, 2)), placed(a=3, b=1, c=1, d=1), "bcd", id="over nodes, wider"),
        pytest.param(spread(constraint(), constraint(HOSTNAME)), placed(c=1), "ab", id="both constraints"),
        pytest.param(spread(constraint(), constraint(HOSTNAME)), placed(a=1, c=1), "bd", id="the narrower decides"),
        pytest.param(spread(constraint(), constraint(HOSTNAME)), placed(a=1, b=1, c=1), "d", id="in zone and node"),
        pytest.param(
            spread(constraint(), labels=B), [*placed(a=1), *placed(a=1)], "cd", id="it isn't one of those itself"
        ),
        pytest.param(spread(constraint(), labels=B), placed(a=1), "abcd", id="so one more is even"),
        # Who counts.
        pytest.param(spread(constraint()), [("a", neighbour(labels=B))], "abcd", id="others don't count"),
        pytest.param(spread(constraint()), [("a", neighbour(labels=A, namespace="y"))], "abcd", id="other namespaces"),
        pytest.param(spread(constraint()), [deleting("a")], "abcd", id="those that end don't count"),
        pytest.param(spread(constraint()), [("gone", neighbour(labels=A))], "abcd", id="nor those on no node"),
        pytest.param(
            spread(constraint(labelSelector={})),
            [("a", neighbour(labels=B)), ("a", neighbour())],
            "cd",
            id="empty: all",
        ),
        pytest.param(spread(constraint(labelSelector=None)), placed(a=5), "abcd", id="none: nobody"),
        pytest.param(
            spread(constraint(matchLabelKeys=["v"]), labels={**A, "v": "2"}),
            [("a", neighbour(labels={**A, "v": "1"})), ("c", neighbour(labels={**A, "v": "2"}))],
            "ab",
            id="of the same version",
        ),
        pytest.param(spread(constraint(matchLabelKeys=["v"])), placed(a=1), "cd", id="it has no version"),
        # How many domains there must be.
        pytest.param(spread(constraint(minDomains=3)), placed(), "abcd", id="too few domains, none is full"),
        pytest.param(spread(constraint(minDomains=3)), placed(a=1, c=1), "", id="too few domains, both have one"),
        pytest.param(spread(constraint(minDomains=2)), placed(a=1, c=1), "abcd", id="just enough domains"),
        pytest.param(spread(constraint(soft=True)), placed(a=9), "abcd", id="a wish refuses nobody"),
    ],
)
def test_who_passes(ask, there, names):
    assert passed(ask, FOUR, there) == names


def test_a_node_without_the_label_is_refused_and_its_pods_do_not_count():
    nodes = [*FOUR, at("e")]
    assert passed(spread(constraint()), nodes, placed(e=9)) == "abcd"
    # Nor does a node that lacks another constraint's label count for the first.
    asks = spread(constraint(), constraint("rack"))
    racked = [at("a", "1", rack="x"), at("b", "2", rack="x"), at("c", "2")]
    assert passed(asks, racked, placed(c=3)) == "ab"
    assert passed(asks, racked[:1], placed(a=3)) == "a", "an only domain is never more than itself"
    view = table_of(nodes, placed(a=1, e=1)).snapshot()
    state, ask = CycleState(), spread(constraint())
    PLUGIN.pre_filter(state, ask, view)
    lacking, skewed = PLUGIN.explain(state, ask, view)
    assert (lacking.reason, lacking.code) == (REASON_NO_LABEL, Code.UNRESOLVABLE)
    assert (skewed.reason, skewed.code) == (REASON, Code.UNSCHEDULABLE)
    assert ([view.names[row] for row in lacking.rows.nonzero()[0]], skewed.rows.tolist()[:2]) == (["e"], [True, True])


TAINTED = node("e", labels={"zone": "3"}, taints=({"key": "k", "value": "", "effect": "NoSchedule"},))


@pytest.mark.parametrize(
    ("more", "fields", "there", "names"),
    [
        # Where the pod can't go by its selector nobody counts, unless that is to be ignored.
        ({"nodeAffinityPolicy": "Ignore"}, {"nodeSelector": {"zone": "2"}}, {"a": 1}, "cde"),
        ({"nodeAffinityPolicy": "Honor"}, {"nodeSelector": {"zone": "2"}}, {"a": 1}, "abcde"),
        ({}, {"nodeSelector": {"zone": "2"}}, {"a": 1}, "abcde"),
        # The empty zone 3 has a taint: by default it counts, and then no other may have one more.
        ({"nodeTaintsPolicy": "Ignore"}, {}, {"a": 1, "c": 1}, "e"),
        ({}, {}, {"a": 1, "c": 1}, "e"),
        ({"nodeTaintsPolicy": "Honor"}, {}, {"a": 1, "c": 1}, "abcde"),
        ({"nodeTaintsPolicy": "Honor"}, {"tolerations": [{"operator": "Exists"}]}, {"a": 1, "c": 1}, "e"),
    ],
)
def test_which_nodes_count(more, fields, there, names):
    assert passed(spread(constraint(**more), **fields), [*FOUR, TAINTED], placed(**there)) == names


def test_what_the_user_is_told():
    view = table_of([at("a", "1"), at("b")], placed(a=1)).snapshot()
    assert message_of(runtime_of(), spread(constraint(minDomains=2)), view) == (
        f"0/2 nodes are available: 1 {REASON}, 1 {REASON_NO_LABEL}."
    )


# --- default constraints


def made(*constraints):
    given = {"defaultingType": "List", "defaultConstraints": list(constraints)}
    return PodTopologySpread(strict.decode(given, PodTopologySpreadArgs))


def bare(key="zone", how="DoNotSchedule", skew=1):
    return {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": how}


@pytest.mark.parametrize(
    ("fields", "there", "names"),
    [
        ({"owner": "r"}, [("a", neighbour(owner="r"))], "cd"),
        ({"owner": "r"}, [("a", neighbour(labels=A, owner="s"))], "abcd"),
        ({"owner": "r"}, [("a", neighbour(owner="r", namespace="y"))], "abcd"),
        ({"owner": "r"}, [("a", neighbour(owner="r", deleting=True))], "abcd"),
        ({}, [("a", neighbour(labels=A))], "abcd"),
        ({"owner": "r", "topologySpreadConstraints": [constraint(skew=9)]}, [("a", neighbour(owner="r"))], "abcd"),
    ],
)
def test_default_constraints_are_for_pods_of_one_owner_that_have_none(fields, there, names):
    assert passed(neighbour("q", A, **fields), FOUR, there, made(bare())) == names


def test_a_controller_is_the_owner_and_no_other():
    assert neighbour(owner="r").owner == "ReplicaSet/r/uid-r"
    assert neighbour().owner == ""


def test_the_systems_constraints_are_wishes():
    ask = neighbour("q", owner="r")
    keys = [(each.topology_key, each.max_skew, each.when_unsatisfiable) for each in PLUGIN.constraints(ask)]
    assert keys == [(HOSTNAME, 3, "ScheduleAnyway"), (ZONE, 5, "ScheduleAnyway")]
    assert PLUGIN.constraints(neighbour("q")) == ()
    assert not PLUGIN.concerns(neighbour("q"), table_of(FOUR).snapshot())


# --- scores


def scores(ask, nodes, there=(), plugin=PLUGIN, feasible=None):
    view, state = table_of(nodes, there).snapshot(), CycleState()
    those = view.valid if feasible is None else view.valid & view.named(feasible)
    if plugin.pre_score(state, ask, view, those).code is Code.SKIP:
        return None
    found = plugin.normalize(state, ask, plugin.score(state, ask, view), those)
    assert plugin.rank(state, ask, view, those)[those].tolist() == found[those].tolist()
    return found.tolist()


def soft(key="zone", skew=1, **more):
    return spread(constraint(key, skew, soft=True, **more))


@pytest.mark.parametrize(
    ("ask", "there", "want"),
    [
        (soft(), placed(), [HIGHEST_SCORE] * 4),
        (soft(), placed(a=1), [0, 0, 100, 100]),
        (soft(), placed(a=2, c=1), [33, 33, 100, 100]),
        (soft(HOSTNAME), placed(a=2, c=1), [0, 100, 50, 100]),
        # What may be skewed anyway waters down the difference.
        (soft(skew=3), placed(a=1), [66, 66, 100, 100]),
        (soft(), [("a", neighbour(labels=B))], [100] * 4),
        (spread(constraint()), placed(a=1), None),
        (neighbour("q", A), placed(a=1), None),
    ],
)
def test_the_emptier_the_better(ask, there, want):
    assert scores(ask, FOUR, there) == want


def test_a_node_without_the_label_gets_nothing():
    assert scores(soft(), [*FOUR, at("e")], placed(a=1)) == [0, 0, 100, 100, 0]


def test_nodes_without_a_zone_are_still_told_apart_by_the_systems_constraints():
    nodes = [node("a", labels={HOSTNAME: "a"}), node("b", labels={HOSTNAME: "b", ZONE: "1"}), node("c")]
    found = scores(neighbour("q", owner="r"), nodes, [("a", neighbour(owner="r"))])
    assert found[0] < found[2]
    assert found[1] < found[2]


def test_only_nodes_that_can_take_it_are_compared():
    assert scores(soft(), FOUR, placed(a=3, c=1), feasible=("a", "b"))[:2] == [100, 100]


# --- dry runs


def test_a_dry_run_counts_whom_it_moves_and_leaves_the_rest_alone():
    view = table_of(FOUR, placed(a=1)).snapshot()
    state, ask = CycleState(), spread(constraint())
    PLUGIN.pre_filter(state, ask, view)
    there = next(iter(view.pods[view.index["a"]].values()))
    dry, row = state.clone(), view.take([view.index["a"]])
    assert not PLUGIN.filter(dry, ask, row).any()
    PLUGIN.remove_pod(dry, ask, there, row)
    assert PLUGIN.filter(dry, ask, row).all()
    PLUGIN.add_pod(dry, ask, neighbour(labels=B), row)
    assert PLUGIN.filter(dry, ask, row).all()
    PLUGIN.add_pod(dry, ask, there, row)
    assert not PLUGIN.filter(dry, ask, row).any()
    assert not PLUGIN.filter(state, ask, row).any()
    assert PLUGIN.add_pod(CycleState(), ask, there, row).ok, "a pod that it has nothing to say of"


# --- what may help


ASK = spread(constraint())


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, neighbour(labels=A, node="a"), Hint.QUEUE),
        (neighbour(labels=A, node="a"), None, Hint.QUEUE),
        (None, neighbour(labels=B, node="a"), Hint.SKIP),
        (None, neighbour(labels=A, namespace="y", node="a"), Hint.SKIP),
        (neighbour(labels=A, node="a"), neighbour(labels=B, node="a"), Hint.QUEUE),
        (neighbour(labels=A, node="a"), neighbour(labels={**A, "v": "1"}, node="a"), Hint.SKIP),
        (neighbour(labels=A, node="a"), neighbour(labels=A, node="a", deleting=True), Hint.QUEUE),
        (None, None, Hint.QUEUE),
    ],
)
def test_another_pod_helps_if_it_counts_otherwise(old, new, hint):
    assert PLUGIN._hints.after_pod(ASK, old, new) is hint


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, at("a", "3"), Hint.QUEUE),
        (None, at("a"), Hint.SKIP),
        (at("a", "3"), None, Hint.QUEUE),
        (at("a"), None, Hint.SKIP),
        (at("a", "3"), at("a", "1"), Hint.QUEUE),
        (at("a"), at("a", "1"), Hint.QUEUE),
        (at("a", "3"), at("a", "3", rack="x"), Hint.SKIP),
        (at("a", "3"), node("a", labels={"zone": "3"}, taints=({"key": "k", "effect": "NoSchedule"},)), Hint.SKIP),
    ],
)
def test_a_node_helps_if_its_domain_is_another(old, new, hint):
    assert PLUGIN._hints.after_node(ASK, old, new) is hint


def test_a_taint_helps_where_taints_are_honoured():
    ask = spread(constraint(nodeTaintsPolicy="Honor"))
    tainted = node("a", labels={"zone": "3"}, taints=({"key": "k", "effect": "NoSchedule"},))
    assert PLUGIN._hints.after_node(ask, node("a", labels={"zone": "3"}), tainted) is Hint.QUEUE


def test_default_constraints_hint_by_owner():
    hints = made(bare())._hints
    ask = neighbour("q", owner="r")
    assert hints.after_pod(ask, neighbour(owner="r", node="a"), None) is Hint.QUEUE
    assert hints.after_pod(ask, neighbour(owner="s", node="a"), None) is Hint.SKIP
