"""The audit's reading of spread and affinity, beside the one that the plugins are held against."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.neighbours import Neighbour, Neighbourhood
from chaos.objects import Stored
from tests.harness import plain_neighbours as plain
from tests.harness.neighbours import DrawnCrowd, affinity, constraint, near, neighbour
from tests.harness.objects import node


def stored(each):
    return Stored(token=0, labels=each.labels, taints=each.taints)


def seen(pod, where=""):
    return Neighbour(pod.namespace, pod.labels, pod.spec, where, pod.deleting)


def refusals(ask, nodes, placed, namespaces=None):
    around = Neighbourhood(
        {name: stored(each) for name, each in nodes.items()},
        [seen(pod, where) for where, pod in placed],
        namespaces or {},
    )
    return around.refusals(seen(ask))


A, B = {"app": "a"}, {"app": "b"}
NODES = {name: node(name, labels={"zone": zone}) for name, zone in (("n", "1"), ("m", "2"))} | {"o": node("o")}


@pytest.mark.parametrize(
    ("spec", "placed", "found"),
    [
        ({"topologySpreadConstraints": [constraint()]}, [("n", A)], {"n": "topology spread", "o": "topology spread"}),
        (
            {"affinity": {"podAffinity": affinity(near(labelSelector={"matchLabels": B}))}},
            [("n", B)],
            {"m": "pod affinity", "o": "pod affinity"},
        ),
        ({"affinity": {"podAffinity": affinity(near())}}, [], {"o": "pod affinity"}),
        ({"affinity": {"podAntiAffinity": affinity(near())}}, [("n", A)], {"n": "pod anti-affinity"}),
        ({}, [("n", A)], {}),
    ],
)
def test_who_is_kept_off(spec, placed, found):
    assert (
        refusals(neighbour("q", A, **spec), NODES, [(at, neighbour(labels=labels)) for at, labels in placed]) == found
    )


def test_those_placed_keep_newcomers_off():
    shy = neighbour(labels=B, affinity={"podAntiAffinity": affinity(near())})
    assert refusals(neighbour("q", A), NODES, [("n", shy)]) == {"n": "pod anti-affinity"}


@settings(max_examples=60)
@given(st.integers(0, 2**40))
def test_it_agrees_with_the_other_plain_reading(seed):
    crowd = DrawnCrowd(seed)
    for _ in range(2):
        for ask in (crowd.ask(), crowd.ask()):
            want = {*plain.spread_refusals(ask, crowd), *plain.affinity_refusals(ask, crowd)}
            assert set(refusals(ask, crowd.nodes, crowd.placed.values(), crowd.namespaces.labels)) == want
        crowd.change()


def test_who_has_ended_is_no_neighbour():
    pod = neighbour(labels=A)
    there = Stored(token=0, spec=pod.spec, labels=pod.labels, node="n")
    assert Neighbour.of("pods/x/p", there) == seen(pod, "n")
    assert Neighbour.of("pods/x/p", Stored(token=0, spec=pod.spec, finished=True)) is None
