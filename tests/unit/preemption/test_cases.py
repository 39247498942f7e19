"""Whom preemption has go, case by case, as a maintainer would put them."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from replica.framework.disruptions import PostFilterResult
from replica.framework.status import SUCCESS
from replica.framework.victims import Victims as Advice
from tests.harness.objects import node, pod
from tests.harness.preempting import Cluster, budget, labelled, running

ROOM = {"cpu": "4", "memory": "8Gi", "pods": 10}
TAINT = {"key": "k", "value": "v", "effect": "NoSchedule"}
NONE = "preemption: 0/{} nodes are available: {}."
NO_VICTIMS = "No preemption victims found for incoming pod"
NO_HELP = "Preemption is not helpful for scheduling"


def low(name, on="a", *, cpu="2", **more):
    return running(name, on, requests={"cpu": cpu}, **more)


def high(*, cpu="4", priority=10, **more):
    return pod("high", uid="high", requests={"cpu": cpu}, priority=priority, **more)


def port(number):
    return [{"name": "c", "ports": [{"containerPort": 80, "hostPort": number}]}]


def cluster(*pods, nodes="ab", **how):
    made = Cluster(**how)
    for name in nodes:
        made.add_node(node(name, allocatable=ROOM))
    made.add(*pods)
    return made


CASES = {
    "no more go than are needed": ([low("a1"), low("a2"), low("b1", "b", cpu="4")], high(cpu="2"), "a", {"a2"}),
    "the lowest priority goes": ([low("a1", priority=5), low("b1", "b", priority=1)], high(cpu="3"), "b", {"b1"}),
    "the highest victim decides before the sum": (
        [low("a1", priority=5), low("b1", "b", priority=4), low("b2", "b", priority=4)],
        high(),
        "b",
        {"b1", "b2"},
    ),
    "then the sum": (
        [low("a1", priority=4), low("a2", priority=3), low("b1", "b", priority=4), low("b2", "b", priority=1)],
        high(),
        "b",
        {"b1", "b2"},
    ),
    "one victim more is more harm, however low": (
        [low("a1", cpu="4", priority=4), low("b1", "b", priority=4), low("b2", "b", priority=-2_000_000_000)],
        high(),
        "a",
        {"a1"},
    ),
    "the one that began last goes": (
        [low("a1", cpu="4", started=5), low("b1", "b", cpu="4", started=9)],
        high(),
        "b",
        {"b1"},
    ),
    "of the most important ones the oldest counts": (
        [
            low("a1", priority=3, started=1),
            low("a2", priority=3, started=9),
            low("b1", "b", priority=3, started=2),
            low("b2", "b", priority=3, started=3),
        ],
        high(),
        "b",
        {"b1", "b2"},
    ),
    "on a node the youngest of a priority goes": (
        [low("a1", started=9), low("a2", started=5), low("b1", "b", cpu="4", priority=9)],
        high(cpu="2"),
        "a",
        {"a1"},
    ),
    "who matters more is given back first": (
        [low("a1", cpu="3", priority=2), low("a2", cpu="1", priority=7), low("b1", "b", priority=10, cpu="4")],
        high(cpu="3"),
        "a",
        {"a1"},
    ),
    "equal priorities stay": ([low("a1", priority=10), low("b1", "b", cpu="4")], high(), "b", {"b1"}),
}


@pytest.mark.parametrize("slow", [False, True], ids=["by row", "by part"])
@pytest.mark.parametrize(("pods", "made", "name", "victims"), CASES.values(), ids=CASES.keys())
def test_victims(pods, made, name, victims, slow):
    assert cluster(*pods, slow=slow).preempt(made) == (name, victims)


def test_a_pod_without_priority_has_zero_and_those_below_it_go():
    at = cluster(low("a1", cpu="4", priority=-1), nodes="a")
    assert at.preempt(pod("high", requests={"cpu": "4"})) == ("a", {"a1"})


def test_ports_make_victims_too():
    at = cluster(running("a1", "a", containers=port(80)), running("a2", "a", containers=port(81)), nodes="a")
    assert at.preempt(pod("high", containers=port(81), priority=1)) == ("a", {"a2"})


def test_the_number_of_pods_makes_victims_too():
    at = Cluster()
    at.add_node(node("a", allocatable={**ROOM, "pods": 2}))
    at.add(low("a1", cpu="100m", priority=1), low("a2", cpu="100m"))
    assert at.preempt(high(cpu="100m")) == ("a", {"a2"})


REFUSALS = {
    "nobody matters less": (
        [low("a1", priority=10), low("b1", "b", priority=11)],
        {},
        NONE.format(2, f"2 {NO_VICTIMS}"),
    ),
    "all that go don't suffice": (
        [low("a1", priority=10), low("a2"), low("b1", "b", priority=10)],
        {},
        NONE.format(2, f"1 Insufficient cpu, 1 {NO_VICTIMS}"),
    ),
    "it asks for more than there is": ([low("a1"), low("b1", "b")], {"cpu": "5"}, NONE.format(2, f"2 {NO_HELP}")),
    "it asks for another node": (
        [low("a1"), low("b1", "b")],
        {"nodeSelector": {"disk": "ssd"}},
        NONE.format(2, f"2 {NO_HELP}"),
    ),
    "its policy is never": (
        [low("a1"), low("b1", "b")],
        {"preemptionPolicy": "Never"},
        "preemption: not eligible due to preemptionPolicy=Never.",
    ),
}


@pytest.mark.parametrize("slow", [False, True], ids=["by row", "by part"])
@pytest.mark.parametrize(("pods", "spec", "told"), REFUSALS.values(), ids=REFUSALS.keys())
def test_refusals(pods, spec, told, slow):
    assert cluster(*pods, slow=slow).preempt(high(**spec)) == told


def test_a_node_that_is_tainted_or_cordoned_is_not_cleared():
    at = cluster(low("a1"), nodes="a")
    at.add_node(node("b", allocatable=ROOM, taints=(TAINT,)))
    at.add_node(node("c", allocatable=ROOM, unschedulable=True))
    at.add(low("b1", "b"), low("c1", "c"))
    assert at.preempt(high()) == ("a", {"a1"})


# --- budgets


def kept(name, on="a", **more):
    return labelled(low(name, on, **more), {"app": "kept"})


def test_a_budget_counts_before_priority():
    at = cluster(kept("a1", cpu="4"), low("b1", "b", cpu="4", priority=9))
    at.guard(budget("b", {"app": "kept"}, min_available=1))
    assert at.preempt(high()) == ("b", {"b1"})


def test_a_budget_is_violated_rather_than_a_pod_left_waiting():
    at = cluster(kept("a1", cpu="4"), nodes="a")
    at.guard(budget("b", {"app": "kept"}, max_unavailable=0))
    assert at.preempt(high()) == ("a", {"a1"})


def test_who_is_kept_is_given_back_before_who_matters_more():
    at = cluster(kept("a1", priority=1), low("a2", priority=5), nodes="a")
    at.guard(budget("b", {"app": "kept"}, min_available=1))
    assert at.preempt(high(cpu="2")) == ("a", {"a2"})


def test_what_a_budget_allows_is_no_violation():
    at = cluster(kept("a1", cpu="4"), kept("c1", "c", cpu="4"), low("b1", "b", cpu="4", priority=1), nodes="abc")
    at.guard(budget("b", {"app": "kept"}, max_unavailable="50%"))
    assert at.preempt(high())[0] in {"a", "c"}


def test_a_pod_that_was_chosen_to_go_is_missed_at_once():
    at = cluster(kept("a1", cpu="4"), kept("c1", "c", cpu="4"), low("b1", "b", cpu="4", priority=1), nodes="abc")
    at.guard(budget("b", {"app": "kept"}, max_unavailable=1))
    node_name, victims = at.preempt(high())
    at.book.going(victims)
    at.promise(high(), node_name)
    assert at.preempt(replace(high(), uid="next", name="next")) == ("b", {"b1"})
    at.book.staying(victims)
    assert at.preempt(replace(high(), uid="next", name="next"))[0] != "b"


def test_a_budget_of_another_namespace_keeps_nobody():
    at = cluster(kept("a1", cpu="4"), low("b1", "b", cpu="4", priority=9))
    at.guard(replace(budget("b", {"app": "kept"}, min_available=1), namespace="other"))
    assert at.preempt(high()) == ("a", {"a1"})


# --- promises


def test_room_that_is_promised_to_equals_is_not_promised_twice():
    at = cluster(low("a1", cpu="4"), low("b1", "b", cpu="4", priority=5))
    first = high()
    assert at.preempt(first) == ("a", {"a1"})
    at.promise(first, "a")
    assert at.preempt(replace(high(), uid="next", name="next")) == ("b", {"b1"})


def test_who_was_promised_a_node_where_victims_are_going_waits_for_them():
    at = cluster(low("a1", cpu="4"), low("b1", "b", cpu="4", priority=5))
    made = high()
    at.promise(made, "a")
    at.add(replace(at.pods["a1"], deleting=True, ends="2026-01-01T00:00:30Z"))
    assert at.preempt(made) == "preemption: not eligible due to a terminating pod on the nominated node."
    # One that its user deletes has nothing to do with it.
    at.add(replace(at.pods["a1"], ends=""))
    assert at.preempt(made) == ("a", {"a1"})


def test_a_promise_of_a_node_that_can_not_be_used_any_more_is_forgotten():
    at = cluster(low("a1", cpu="4"), low("b1", "b", cpu="4", priority=5))
    made = high()
    at.promise(made, "a")
    at.add(replace(at.pods["a1"], deleting=True, ends="2026-01-01T00:00:30Z"))
    at.add_node(node("a", allocatable=ROOM, unschedulable=True))
    assert at.preempt(made) == ("b", {"b1"})


# --- how many nodes are looked at


def many(count, **args):
    at = Cluster(args=args)
    for number in range(count):
        at.add_node(node(f"n{number}", allocatable=ROOM))
        at.add(low(f"p{number}", f"n{number}", cpu="4", priority=number % 7))
    return at


def test_as_many_nodes_are_looked_at_as_are_asked_for():
    at = many(50, minCandidateNodesPercentage=10, minCandidateNodesAbsolute=1)
    tried = []
    book = at.runtime._post_filters[0]._search
    original = book._try
    book._try = lambda *args: (tried.append(args[-1]), original(*args))
    at.preempt(high())
    assert len(tried) == 5
    rows = sorted(tried)
    assert rows == list(range(rows[0], rows[0] + 5)) or {0, 49} <= set(rows)


def test_the_first_node_to_look_at_is_drawn():
    found = set()
    for seed in range(20):
        at = many(10, minCandidateNodesPercentage=1, minCandidateNodesAbsolute=1)
        at.runtime._handle.draw.seed(seed)
        found.add(at.preempt(high())[0])
    assert len(found) > 3


def test_a_node_where_no_budget_is_violated_is_looked_for_beyond_that():
    at = many(50, minCandidateNodesPercentage=1, minCandidateNodesAbsolute=1)
    for number in range(49):
        at.add(labelled(at.pods[f"p{number}"], {"app": "kept"}))
    at.guard(budget("b", {"app": "kept"}, max_unavailable=0))
    for _ in range(5):
        assert at.preempt(high()) == ("n49", {"p49"})


# --- who else is asked


class Advisers:
    """Leaves what a test says."""

    def __init__(self, answer):
        self.answer = answer
        self.asked = None

    def __len__(self):
        return 1

    def preempt(self, _pod, candidates):
        self.asked = {name: {each.name for each in victims.pods} for name, victims in candidates.items()}
        return self.answer(candidates)


def advised(answer, *pods):
    at = cluster(*pods)
    advisers = Advisers(answer)
    at.runtime._post_filters[0]._search._advisers = advisers
    return at, advisers


def test_extenders_choose_among_the_nodes_that_could_be_cleared():
    pods = [low("a1", cpu="4"), low("b1", "b", cpu="4", priority=5)]
    at, advisers = advised(lambda candidates: {"b": candidates["b"]}, *pods)
    assert at.preempt(high()) == ("b", {"b1"})
    assert advisers.asked == {"a": {"a1"}, "b": {"b1"}}


def test_extenders_may_spare_victims_and_that_counts():
    pods = [low("a1", priority=3), low("a2", priority=1), low("b1", "b", cpu="4", priority=2)]

    def spare(candidates):
        kept = tuple(each for each in candidates["a"].pods if each.name == "a2")
        return {**candidates, "a": Advice(kept, 0)}

    at, _ = advised(spare, *pods)
    assert at.preempt(high()) == ("a", {"a2"})


def test_extenders_may_leave_no_node():
    at, _ = advised(lambda _candidates: {}, low("a1", cpu="4"), low("b1", "b", cpu="4"))
    assert at.preempt(high()) == "preemption: 0/2 nodes are available: 2 no candidate node for preemption."


# --- what is remembered


def test_pods_that_are_alike_share_what_was_tried():
    at = many(30)
    search = at.runtime._post_filters[0]._search
    tried = []
    original = search._try
    search._try = lambda *args: (tried.append(args[-1]), original(*args))
    at.preempt(high())
    assert len(tried) == 30
    at.preempt(replace(high(), uid="2", name="2"))
    assert len(tried) == 30
    at.remove("p3")
    at.add(low("p3", "n3", cpu="4", priority=1))
    at.promise(high(), "n5")
    at.preempt(replace(high(), uid="3", name="3"))
    assert sorted(tried[30:]) == [3, 5]
    at.preempt(replace(high(priority=11), uid="4", name="4"))
    assert len(tried) == 62


def test_remembering_changes_nothing():
    draw = random.Random(5)  # noqa: S311  # drawn tests, no secret
    one, other = many(20, minCandidateNodesAbsolute=3), many(20, minCandidateNodesAbsolute=3)
    other.runtime._post_filters[0]._search._remember = False
    for number in range(60):
        made = high(cpu=draw.choice("24"), priority=draw.choice((4, 10)))
        made = replace(made, name=f"x{number}", uid=f"x{number}")
        found = one.preempt(made)
        assert other.preempt(made) == found
        if isinstance(found, tuple) and draw.random() < 0.7:
            for at in (one, other):
                at.remove(min(found[1]))
                at.add(running(f"x{number}", found[0], priority=1, requests={"cpu": "1"}))
                at.promise(replace(made, name=f"y{number}", uid=f"y{number}"), found[0])


def test_a_post_filter_leaves_a_promise_alone_unless_it_says_otherwise():
    assert PostFilterResult(SUCCESS).nominated_node is None
