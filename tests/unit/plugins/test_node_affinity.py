from __future__ import annotations

import numpy as np
import pytest

from component import strict
from replica.framework.cycle_state import CycleState
from replica.framework.status import Code
from replica.plugins.arguments import NodeAffinityArgs
from replica.plugins.node_affinity import REASON, REASON_ADDED, REASON_CONFLICT, NodeAffinity
from replica.queue.hints import Hint
from tests.harness.framework import message_of, refusals, runtime_of, table_of
from tests.harness.objects import node, pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
PLUGIN = NodeAffinity(NodeAffinityArgs())

NODES = [
    node("a", labels={"zone": "x", "cores": "8", "gpu": ""}),
    node("b", labels={"zone": "y", "cores": "16"}),
    node("c", labels={"cores": "many"}),
]


def has(key, operator="Exists", *values):
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def term(*expressions, names=None):
    fields = [has("metadata.name", *names)] if names else []
    return {"matchExpressions": list(expressions), "matchFields": fields}


def required(*terms):
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}}


def preferred(*weighted):
    given = [{"weight": weight, "preference": preference} for weight, preference in weighted]
    return {"affinity": {"nodeAffinity": {PREFERRED: given}}}


def passed(plugin=PLUGIN, nodes=NODES, **spec):
    """The names of the nodes that pass, by column and by row."""
    view, ask = table_of(nodes).snapshot(), pod(**spec)
    left = set(view.index) - set(refusals(plugin, ask, view))
    assert left == {name for name, row in view.index.items() if plugin.filter_row(CycleState(), ask, view, row)}
    return "".join(sorted(left))


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        (None, "abc"),
        ({}, "abc"),
        ({"zone": "x"}, "a"),
        ({"zone": "x", "cores": "8"}, "a"),
        ({"zone": "x", "cores": "16"}, ""),
        ({"zone": "none"}, ""),
        ({"gpu": ""}, "a"),
        ({"none": ""}, ""),
    ],
)
def test_node_selectors(selector, names):
    assert passed(nodeSelector=selector) == names


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ([term(has("zone", "In", "x"))], "a"),
        ([term(has("zone", "In", "x", "y"))], "ab"),
        ([term(has("zone", "In", "none"))], ""),
        ([term(has("zone", "NotIn", "x"))], "bc"),
        ([term(has("zone", "NotIn", "none"))], "abc"),
        ([term(has("zone"))], "ab"),
        ([term(has("zone", "DoesNotExist"))], "c"),
        ([term(has("cores", "Gt", "8"))], "b"),
        ([term(has("cores", "Gt", "7"))], "ab"),
        ([term(has("cores", "Lt", "16"))], "a"),
        ([term(has("zone", "Gt", "0"))], ""),
        ([term(has("none", "Lt", "9"))], ""),
        # Terms are alternatives, expressions of one go together.
        ([term(has("zone", "In", "x")), term(has("zone", "In", "y"))], "ab"),
        ([term(has("zone"), has("gpu"))], "a"),
        ([term(has("zone"), has("zone", "DoesNotExist"))], ""),
        # An empty term matches nothing, and no terms do neither.
        ([term()], ""),
        ([term(), term(has("gpu"))], "a"),
        ([], ""),
        ([term(names=("In", "b"))], "b"),
        ([term(names=("In", "b", "c", "gone"))], "bc"),
        ([term(names=("NotIn", "b"))], "ac"),
        ([term(has("zone"), names=("NotIn", "b"))], "a"),
        ([term(has("gpu"), names=("In", "b"))], ""),
        # What means nothing matches nothing.
        ([term(has("zone", "In"))], ""),
        ([term(has("zone", "NotIn"))], ""),
        ([term(has("cores", "Gt", "many"))], ""),
        ([term(has("cores", "Gt", "1", "2"))], ""),
        ([term(has("zone", "Near", "x"))], ""),
        ([term(has("zone", "Near", "x")), term(has("gpu"))], "a"),
    ],
)
def test_required_terms(terms, names):
    assert passed(**required(*terms)) == names


def test_a_selector_and_an_affinity_go_together():
    assert passed(nodeSelector={"zone": "y"}, **required(term(has("zone")))) == "b"
    assert passed(nodeSelector={"zone": "y"}, **required(term(has("gpu")))) == ""
    assert passed(nodeSelector={"zone": "y"}, **required()) == ""


def test_the_reason_is_kube_schedulers_and_final():
    view, ask = table_of(NODES).snapshot(), pod(nodeSelector={"zone": "z"})
    assert refusals(PLUGIN, ask, view) == {name: [REASON] for name in "abc"}
    assert [refusal.code for refusal in PLUGIN.explain(CycleState(), ask, view)] == [Code.UNRESOLVABLE]


@pytest.mark.parametrize(
    ("spec", "code", "names"),
    [
        ({}, Code.SKIP, None),
        ({"nodeSelector": {"a": "b"}}, Code.SUCCESS, None),
        (required(term(has("zone"))), Code.SUCCESS, None),
        (required(), Code.SUCCESS, None),
        (preferred((1, term(has("zone")))), Code.SKIP, None),
        (required(term(names=("In", "b"))), Code.SUCCESS, {"b"}),
        (required(term(names=("In", "b")), term(has("zone"), names=("In", "c"))), Code.SUCCESS, {"b", "c"}),
        (required(term(names=("In", "b")), term(has("zone"))), Code.SUCCESS, None),
        (required(term(names=("NotIn", "b"))), Code.SUCCESS, None),
        (
            required({"matchFields": [has("metadata.name", "In", "a"), has("metadata.name", "In", "b")]}),
            Code.UNRESOLVABLE,
            None,
        ),
    ],
)
def test_pre_filter_narrows_by_name(spec, code, names):
    found = PLUGIN.pre_filter(CycleState(), pod(**spec), table_of(NODES).snapshot())
    assert found.status.code is code
    assert found.node_names == (None if names is None else frozenset(names))


def test_what_becomes_of_names_in_the_message():
    conflict = {"matchFields": [has("metadata.name", "In", "a"), has("metadata.name", "In", "b")]}
    view = table_of(NODES).snapshot()
    assert message_of(runtime_of(), pod(**required(conflict)), view) == (f"0/3 nodes are available: {REASON_CONFLICT}.")
    assert message_of(runtime_of(), pod(requests={"cpu": "9"}, **required(term(names=("In", "b")))), view) == (
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity]."
    )


def added(**affinity):
    return NodeAffinity(strict.decode({"addedAffinity": affinity}, NodeAffinityArgs))


def test_an_added_affinity_holds_for_every_pod():
    plugin = added(**{REQUIRED: {"nodeSelectorTerms": [term(has("zone"))]}})
    assert passed(plugin) == "ab"
    assert passed(plugin, nodeSelector={"cores": "8"}) == "a"
    assert passed(plugin, nodeSelector={"cores": "many"}) == ""
    view = table_of(NODES).snapshot()
    assert refusals(plugin, pod(nodeSelector={"zone": "x"}), view) == {"b": [REASON], "c": [REASON_ADDED]}
    assert plugin.pre_filter(CycleState(), pod(), view).status.code is Code.SUCCESS


def scores(plugin=PLUGIN, **spec):
    view, ask = table_of(NODES).snapshot(), pod(**spec)
    found = plugin.score(CycleState(), ask, view)
    column = [0, 0, 0] if found is None else found.tolist()
    assert column == [plugin.score_row(CycleState(), ask, view, row) for row in range(3)]
    return column


def test_preferred_terms_add_their_weights():
    assert scores(**preferred((1, term(has("zone"))), (10, term(has("gpu"))), (100, term(has("none"))))) == [11, 1, 0]
    assert scores(**preferred((7, term()))) == [0, 0, 0]
    assert scores(**preferred((3, term(names=("In", "c"))))) == [0, 0, 3]
    assert scores(added(**preferred((5, term(has("zone"))))["affinity"]["nodeAffinity"])) == [5, 5, 0]
    both = added(**preferred((5, term(has("zone"))))["affinity"]["nodeAffinity"])
    assert scores(both, **preferred((1, term(has("gpu"))))) == [6, 5, 0]


@pytest.mark.parametrize(
    ("plugin", "spec", "code"),
    [
        (PLUGIN, {}, Code.SKIP),
        (PLUGIN, {"nodeSelector": {"a": "b"}}, Code.SKIP),
        (PLUGIN, preferred((1, term(has("zone")))), Code.SUCCESS),
        (added(**preferred((1, term(has("zone"))))["affinity"]["nodeAffinity"]), {}, Code.SUCCESS),
    ],
)
def test_what_prefers_nothing_is_not_scored(plugin, spec, code):
    view = table_of(NODES).snapshot()
    assert plugin.pre_score(CycleState(), pod(**spec), view, view.valid).code is code


def test_scores_are_shares_of_the_greatest():
    assert PLUGIN.scale(np.array([11, 1, 0]), 11).tolist() == [100, 9, 0]
    assert PLUGIN.scale(np.array([0, 0]), 0).tolist() == [0, 0]


def test_labels_that_change_are_seen():
    table, ask = table_of(NODES), pod(nodeSelector={"zone": "x"})
    assert set(refusals(PLUGIN, ask, table.snapshot())) == {"b", "c"}
    table.set_node(node("c", labels={"zone": "x"}))
    table.set_node(node("a", labels={"zone": "z"}))
    assert set(refusals(PLUGIN, ask, table.snapshot())) == {"a", "b"}
    table.remove_node("c")
    table.set_node(node("d"))
    assert set(refusals(PLUGIN, ask, table.snapshot())) == {"a", "b", "d"}


def test_values_that_no_node_has_any_more_are_let_go():
    table = table_of(NODES)
    for number in range(1100):
        table.set_node(node("c", labels={"zone": f"z{number}"}))
        ask = pod(nodeSelector={"zone": f"z{number}"})
        assert set(refusals(PLUGIN, ask, table.snapshot())) == {"a", "b"}
    assert len(table.snapshot().facts.label("zone")._values) < 1100


X, Y = node("a", labels={"zone": "x"}), node("a", labels={"zone": "y"})


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, X, Hint.QUEUE),
        (None, Y, Hint.SKIP),
        (Y, X, Hint.QUEUE),
        (X, X, Hint.SKIP),
        (X, Y, Hint.SKIP),
        (X, None, Hint.QUEUE),
    ],
)
def test_a_node_helps_that_newly_matches(old, new, hint):
    assert PLUGIN.after_node(pod(nodeSelector={"zone": "x"}), old, new) is hint


def test_a_node_that_the_added_affinity_refuses_helps_nobody():
    plugin = added(**{REQUIRED: {"nodeSelectorTerms": [term(has("zone", "In", "x"))]}})
    assert plugin.after_node(pod(), None, Y) is Hint.SKIP
    assert plugin.after_node(pod(), Y, X) is Hint.QUEUE


def test_pods_that_ask_for_the_same_share_and_others_do_not():
    one = pod(nodeSelector={"zone": "x"}, requests={"cpu": 1})
    same = pod(nodeSelector={"zone": "x"}, requests={"cpu": 2})
    assert PLUGIN.signature(one) == PLUGIN.signature(same)
    assert PLUGIN.signature(one) != PLUGIN.signature(pod(nodeSelector={"zone": "y"}))
    assert PLUGIN.signature(one) != PLUGIN.signature(pod(**required(term(has("zone", "In", "x")))))
