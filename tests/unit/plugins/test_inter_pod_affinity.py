from __future__ import annotations

import pytest

from component import strict
from replica.framework.cycle_state import CycleState
from replica.framework.status import Code
from replica.plugins.arguments import InterPodAffinityArgs
from replica.plugins.inter_pod_affinity import (
    REASON_AFFINITY,
    REASON_ANTI_AFFINITY,
    REASON_EXISTING,
    InterPodAffinity,
)
from replica.plugins.namespaces import NamespaceLabels
from replica.queue.hints import Hint
from tests.harness.framework import handle, message_of, runtime_of, table_of
from tests.harness.neighbours import HOSTNAME, Namespaces, affinity, near, neighbour
from tests.harness.objects import node

A, B = {"app": "a"}, {"app": "b"}
NODES = [
    node("a", labels={"zone": "1", HOSTNAME: "a"}),
    node("b", labels={"zone": "1", HOSTNAME: "b"}),
    node("c", labels={"zone": "2", HOSTNAME: "c"}),
    node("d", labels={HOSTNAME: "d"}),
]


def plugin_of(spaces=None, **args):
    known = Namespaces()
    known.labels.update(spaces or {})
    return InterPodAffinity(strict.decode(args, InterPodAffinityArgs), NamespaceLabels(known))


def want(*terms, labels=None, **fields):
    """A pod that requires others near it."""
    return neighbour("q", A if labels is None else labels, affinity={"podAffinity": affinity(*terms)}, **fields)


def shun(*terms, labels=None, **fields):
    """A pod that requires others away from it."""
    return neighbour("q", A if labels is None else labels, affinity={"podAntiAffinity": affinity(*terms)}, **fields)


def on(name, labels=None, **fields):
    return name, neighbour(labels=A if labels is None else labels, **fields)


def refused(ask, there=(), plugin=None):
    """Node -> reason."""
    plugin = plugin or plugin_of()
    view, state, found = table_of(NODES, there).snapshot(), CycleState(), {}
    skipped = plugin.pre_filter(state, ask, view).status.code is Code.SKIP
    verdict = plugin.filter(state, ask, view)
    assert verdict is None or not skipped
    if verdict is not None:
        reasons = plugin.explain(state, ask, view)
        for name, row in view.index.items():
            if not verdict[row]:
                (found[name],) = [each.reason for each in reasons if each.rows[row]]
    return found


def passed(ask, there=(), plugin=None):
    return "".join(sorted({each.name for each in NODES} - set(refused(ask, there, plugin))))


THERE = near("zone", labelSelector={"matchLabels": B})


@pytest.mark.parametrize(
    ("ask", "there", "names"),
    [
        pytest.param(want(THERE), [on("a", B)], "ab", id="in the zone of the one"),
        pytest.param(want(THERE), [on("a", A)], "", id="nobody of that kind"),
        pytest.param(want(THERE), [on("d", B)], "", id="on a node without the label"),
        pytest.param(want(THERE), [on("a", B), on("c", B)], "abc", id="in either zone"),
        pytest.param(want(THERE, near(HOSTNAME, labelSelector={})), [on("a", B)], "a", id="all terms by the same pod"),
        pytest.param(want(near(HOSTNAME), THERE), [on("a", A), on("a", B)], "", id="not by two"),
        # The first of those that want each other.
        pytest.param(want(near()), [], "abc", id="the first of its kind goes where the label is"),
        pytest.param(want(near()), [on("a", B)], "abc", id="others don't matter to the first"),
        pytest.param(want(near()), [on("a")], "ab", id="the second follows"),
        pytest.param(want(near(), labels=B), [], "", id="who isn't one of them is never the first"),
        pytest.param(
            want(near(), near(HOSTNAME, labelSelector={"matchLabels": B})), [], "", id="nor means itself half"
        ),
        pytest.param(want(near()), [on("d")], "abc", id="one that is in no domain leaves it the first"),
        pytest.param(want(near()), [on("a", A, namespace="y")], "abc", id="another namespace's is nobody"),
        pytest.param(want(near()), [on("a", A, deleting=True)], "ab", id="one that ends is still there"),
        # Away.
        pytest.param(shun(THERE), [on("a", B)], "cd", id="not in that zone; without the label nobody is near"),
        pytest.param(shun(near()), [], "abcd", id="it doesn't shun itself"),
        pytest.param(shun(THERE, near(HOSTNAME)), [on("a", B), on("c", A)], "d", id="any term is enough"),
        pytest.param(shun(near(labelSelector={})), [on("a", B)], "cd", id="an empty selector: everybody"),
        pytest.param(shun(near(labelSelector=None)), [on("a", A)], "abcd", id="no selector: nobody"),
        pytest.param(want(near(labelSelector=None)), [on("a", A)], "", id="and nobody is never near"),
        # Namespaces.
        pytest.param(
            shun(near(namespaces=["y"])), [on("a"), on("c", A, namespace="y")], "bad", id="the named one only"
        ),
        pytest.param(shun(near(namespaces=["x", "y"])), [on("a"), on("c", A, namespace="y")], "d", id="both"),
        pytest.param(shun(near(namespaceSelector={})), [on("a", A, namespace="z")], "cd", id="an empty one: all"),
        pytest.param(
            shun(near(namespaceSelector={"matchLabels": {"team": "r"}})),
            [on("a"), on("c", A, namespace="y")],
            "bad",
            id="by the namespace's labels",
        ),
        pytest.param(
            shun(near(namespaceSelector={"matchLabels": {"team": "r"}}, namespaces=["x"])),
            [on("a"), on("c", A, namespace="y")],
            "d",
            id="and the named ones as well",
        ),
        pytest.param(
            shun(near(namespaceSelector={"matchLabels": {"kubernetes.io/metadata.name": "z"}})),
            [on("a", A, namespace="z"), on("c", A, namespace="y")],
            "cd",
            id="a missing namespace has its name",
        ),
        # By the pod's own labels.
        pytest.param(
            want(near(labelSelector={}, matchLabelKeys=["app"]), labels=B), [on("a", A), on("c", B)], "c", id="match"
        ),
        pytest.param(
            shun(near(labelSelector={}, mismatchLabelKeys=["app"])), [on("a", A), on("c", B)], "bad", id="mismatch"
        ),
        pytest.param(
            shun(near(labelSelector={}, matchLabelKeys=["none"])),
            [on("a", B)],
            "cd",
            id="a key it hasn't got is nothing",
        ),
    ],
)
def test_who_passes(ask, there, names):
    assert set(passed(ask, there, plugin_of({"y": {"team": "r"}}))) == set(names)


def with_anti(term, **fields):
    return neighbour(labels=B, affinity={"podAntiAffinity": affinity(term)}, **fields)


@pytest.mark.parametrize(
    ("there", "names"),
    [
        ([("a", with_anti(near()))], "cd"),
        ([("a", with_anti(near(HOSTNAME)))], "bcd"),
        ([("d", with_anti(near()))], "abcd"),
        ([("a", with_anti(near(namespaces=["y"])))], "abcd"),
        ([("a", with_anti(near(), namespace="y"))], "abcd"),
        ([("a", with_anti(near(namespaceSelector={}), namespace="y"))], "cd"),
        ([("a", with_anti(near(labelSelector={"matchLabels": B})))], "abcd"),
        ([("a", with_anti(near())), ("c", with_anti(near(HOSTNAME)))], "d"),
        ([("gone", with_anti(near()))], "abcd"),
    ],
)
def test_those_placed_keep_newcomers_off(there, names):
    assert passed(neighbour("q", A), there) == names


def test_each_refusal_has_kube_schedulers_words_and_says_if_preemption_may_help():
    there = [on("a", B), ("c", with_anti(near(HOSTNAME)))]
    assert refused(want(THERE), [on("a", B)]) == {"c": REASON_AFFINITY, "d": REASON_AFFINITY}
    assert refused(shun(near(HOSTNAME, labelSelector={"matchLabels": B})), there) == {
        "a": REASON_ANTI_AFFINITY,
        "c": REASON_ANTI_AFFINITY,
    }
    assert refused(neighbour("q", A), there) == {"c": REASON_EXISTING}
    view, state, plugin = table_of(NODES, [*there, on("b", A)]).snapshot(), CycleState(), plugin_of()
    ask = neighbour("q", A, affinity={"podAffinity": affinity(THERE), "podAntiAffinity": affinity(near())})
    plugin.pre_filter(state, ask, view)
    codes = {each.reason: each.code for each in plugin.explain(state, ask, view)}
    assert codes == {
        REASON_AFFINITY: Code.UNRESOLVABLE,
        REASON_ANTI_AFFINITY: Code.UNSCHEDULABLE,
        REASON_EXISTING: Code.UNSCHEDULABLE,
    }


def test_what_the_user_is_told():
    view = table_of(NODES, [on("a", B), on("c", B)]).snapshot()
    assert message_of(
        runtime_of(), shun(near(HOSTNAME, labelSelector={}), THERE), table_of(NODES[:2], [on("a", B)]).snapshot()
    ) == (f"0/2 nodes are available: 2 {REASON_ANTI_AFFINITY}.")
    assert message_of(runtime_of(), want(near(labelSelector={"matchLabels": {"app": "c"}})), view) == (
        f"0/4 nodes are available: 4 {REASON_AFFINITY}."
    )


def test_a_namespaces_labels_are_looked_at_anew_each_time():
    known = Namespaces()
    plugin = InterPodAffinity(InterPodAffinityArgs(), NamespaceLabels(known))
    ask = shun(near(namespaceSelector={"matchLabels": {"team": "r"}}))
    there = [on("a", A, namespace="y")]
    table = table_of(NODES, there)

    def left():
        view, state = table.snapshot(), CycleState()
        plugin.pre_filter(state, ask, view)
        verdict = plugin.filter(state, ask, view)
        return "".join(sorted(name for name, row in view.index.items() if verdict is None or verdict[row]))

    assert left() == "abcd"
    known.labels["y"] = {"team": "r"}
    assert left() == "cd"
    known.labels["y"] = {"team": "s"}
    assert left() == "abcd"
    table.add_pod("c", neighbour(labels=A, namespace="y"))
    known.labels["y"] = {"team": "r"}
    assert left() == "d"


# --- scores


def scores(ask, there=(), **args):
    plugin = plugin_of(**args)
    view, state = table_of(NODES, there).snapshot(), CycleState()
    if plugin.pre_score(state, ask, view, view.valid).code is Code.SKIP:
        assert plugin.rank(state, ask, view, view.valid) is None
        return None
    found = plugin.normalize(state, ask, plugin.score(state, ask, view), view.valid)
    assert plugin.rank(state, ask, view, view.valid).tolist() == found.tolist()
    return found.tolist()


def wish(*weighted, away=(), labels=None):
    given = {"podAffinity": affinity(preferred=weighted), "podAntiAffinity": affinity(preferred=away)}
    return neighbour("q", A if labels is None else labels, affinity=given)


def wishing(*weighted, away=(), required=()):
    given = {"podAffinity": affinity(*required, preferred=weighted), "podAntiAffinity": affinity(preferred=away)}
    return neighbour(labels=B, affinity=given)


@pytest.mark.parametrize(
    ("ask", "there", "want"),
    [
        pytest.param(wish((1, THERE)), [on("a", B)], [100, 100, 0, 0], id="near"),
        pytest.param(wish((1, THERE)), [on("c", A)], None, id="nobody of that kind"),
        pytest.param(wish(away=((1, THERE),)), [on("a", B)], [0, 0, 100, 100], id="away"),
        pytest.param(
            wish((3, THERE), (1, near(HOSTNAME))), [on("a", B), on("b", A)], [75, 100, 0, 0], id="weights add up"
        ),
        pytest.param(wish((1, THERE)), [on("a", B), on("a", B), on("c", B)], [100, 100, 50, 0], id="each pod counts"),
        pytest.param(wish((1, THERE), away=((1, THERE),)), [on("a", B)], None, id="what cancels out"),
        # What those placed wish.
        pytest.param(neighbour("q", A), [("a", wishing((5, near())))], [100, 100, 0, 0], id="they want it near"),
        pytest.param(neighbour("q", A), [("a", wishing(away=((5, near()),)))], [0, 0, 100, 100], id="or away"),
        pytest.param(
            neighbour("q", A), [("a", wishing(required=(near(),)))], [100, 100, 0, 0], id="or must have it near"
        ),
        pytest.param(wish((1, THERE)), [("a", wishing((2, near(HOSTNAME))))], [100, 33, 0, 0], id="both ways"),
        pytest.param(neighbour("q", B), [("a", wishing((5, near())))], None, id="they mean others"),
    ],
)
def test_wishes(ask, there, want):
    assert scores(ask, there) == want


def test_what_required_affinity_of_others_weighs():
    there = [("a", wishing(required=(near(),))), ("c", wishing((3, near())))]
    assert scores(neighbour("q", A), there) == [33, 33, 100, 0]
    assert scores(neighbour("q", A), there, hardPodAffinityWeight=6) == [100, 100, 50, 0]
    assert scores(neighbour("q", A), there, hardPodAffinityWeight=0) == [0, 0, 100, 0]


def test_others_wishes_may_be_left_out_for_pods_without_any():
    there = [("a", wishing((5, near())))]
    assert scores(neighbour("q", A), there, ignorePreferredTermsOfExistingPods=True) is None
    assert scores(wish((1, THERE)), there, ignorePreferredTermsOfExistingPods=True) == [100, 100, 0, 0]


# --- whom it concerns, and dry runs


def test_it_concerns_those_who_say_something_and_those_of_whom_something_is_said():
    plugin = plugin_of()
    view = table_of(NODES, [("a", with_anti(near(HOSTNAME)))]).snapshot()
    assert plugin.concerns(neighbour("q", A), view)
    assert not plugin.concerns(neighbour("q", B), view)
    assert plugin.concerns(wish((1, THERE), labels=B), view)
    assert not plugin.concerns(neighbour("q", A), table_of(NODES, [on("a")]).snapshot())


def test_a_dry_run_counts_whom_it_moves_in_all_three_ways():
    plugin = plugin_of()
    there = [on("a", B), ("c", with_anti(near(HOSTNAME)))]
    view = table_of(NODES, there).snapshot()
    ask = neighbour("q", A, affinity={"podAntiAffinity": affinity(near(HOSTNAME, labelSelector={"matchLabels": B}))})
    state = CycleState()
    plugin.pre_filter(state, ask, view)
    for name in "ac":
        row = view.take([view.index[name]])
        (existing,) = view.pods[view.index[name]].values()
        dry = state.clone()
        assert not plugin.filter(dry, ask, row).any()
        plugin.remove_pod(dry, ask, existing, row)
        assert plugin.filter(dry, ask, row).all()
        plugin.add_pod(dry, ask, existing, row)
        assert not plugin.filter(dry, ask, row).any()
        assert not plugin.filter(state, ask, row).any()
    follower, row = want(THERE), view.take([view.index["d"]])
    state = CycleState()
    plugin.pre_filter(state, follower, view)
    plugin.add_pod(state, follower, there[0][1], row)
    assert not plugin.filter(state, follower, row).any(), "in no zone"


# --- what may help


HINTS = plugin_of()._hints


@pytest.mark.parametrize(
    ("ask", "old", "new", "hint"),
    [
        (want(THERE), None, neighbour(labels=B, node="a"), Hint.QUEUE),
        (want(THERE), None, neighbour(labels=A, node="a"), Hint.SKIP),
        (want(THERE), neighbour(labels=B, node="a"), None, Hint.SKIP),
        (want(near()), neighbour(labels=A, node="a"), None, Hint.QUEUE),
        (want(THERE), neighbour(labels=A, node="a"), neighbour(labels=B, node="a"), Hint.QUEUE),
        (shun(THERE), neighbour(labels=B, node="a"), None, Hint.QUEUE),
        (shun(THERE), neighbour(labels=A, node="a"), None, Hint.SKIP),
        (shun(THERE), None, neighbour(labels=B, node="a"), Hint.SKIP),
        (shun(THERE), neighbour(labels=B, node="a"), neighbour(labels=A, node="a"), Hint.QUEUE),
        (neighbour("q", A), with_anti(near(), node="a"), None, Hint.QUEUE),
        (neighbour("q", B), with_anti(near(), node="a"), None, Hint.SKIP),
        (neighbour("q", A), None, None, Hint.QUEUE),
    ],
)
def test_another_pod_helps_if_it_is_wanted_or_leaves(ask, old, new, hint):
    assert HINTS.after_pod(ask, old, new) is hint


@pytest.mark.parametrize(
    ("ask", "old", "new", "hint"),
    [
        (want(THERE), None, NODES[0], Hint.QUEUE),
        (want(THERE), None, NODES[3], Hint.SKIP),
        (shun(THERE), None, NODES[3], Hint.QUEUE),
        (shun(THERE), NODES[0], NODES[1], Hint.QUEUE),
        (shun(THERE), NODES[0], NODES[0], Hint.SKIP),
        (want(near()), NODES[0], None, Hint.QUEUE),
        (want(THERE), NODES[0], None, Hint.SKIP),
    ],
)
def test_a_node_helps_if_it_comes_or_is_elsewhere(ask, old, new, hint):
    assert HINTS.after_node(ask, old, new) is hint


def test_a_namespace_helps_if_its_labels_are_others():
    known = Namespaces()
    known.labels["y"] = {"team": "r"}
    one = known.get("y")
    known.labels["y"] = {"team": "s"}
    ask = shun(near(namespaceSelector={"matchLabels": {"team": "r"}}))
    assert HINTS.after_namespace(ask, one, known.get("y")) is Hint.QUEUE
    assert HINTS.after_namespace(ask, one, one) is Hint.SKIP
    assert HINTS.after_namespace(ask, None, one) is Hint.QUEUE


def test_the_handle_gives_the_namespaces():
    assert runtime_of(with_handle=handle()).signature(neighbour("q", A)) is not None
