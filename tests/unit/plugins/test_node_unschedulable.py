from __future__ import annotations

import pytest

from replica.plugins.node_unschedulable import REASON, NodeUnschedulable, after_node, after_pod
from replica.queue.hints import Hint
from tests.harness.framework import refusals, table_of
from tests.harness.objects import node, pod

KEY = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("tolerations", "refused"),
    [
        ([], True),
        ([{"key": KEY, "operator": "Exists", "effect": "NoSchedule"}], False),
        ([{"key": KEY, "operator": "Exists"}], False),
        ([{"key": KEY, "operator": "Equal", "value": ""}], False),
        ([{"key": KEY}], False),
        ([{"operator": "Exists"}], False),
        ([{"key": KEY, "operator": "Exists", "effect": "NoExecute"}], True),
        ([{"key": KEY, "value": "true", "effect": "NoSchedule"}], True),
        ([{"key": "other", "operator": "Exists"}], True),
    ],
)
def test_a_cordoned_node_takes_those_who_tolerate_it(tolerations, refused):
    nodes = table_of([node("open"), node("cordoned", unschedulable=True)]).snapshot()
    found = refusals(NodeUnschedulable(), pod(tolerations=tolerations), nodes)
    assert found == ({"cordoned": [REASON]} if refused else {})


def test_an_uncordoned_node_takes_pods_again():
    table = table_of([node("a", unschedulable=True)])
    table.set_node(node("a"))
    assert refusals(NodeUnschedulable(), pod(), table.snapshot()) == {}


CLOSED, OPEN = node("a", unschedulable=True), node("a")


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [
        (None, OPEN, Hint.QUEUE),
        (None, CLOSED, Hint.SKIP),
        (CLOSED, OPEN, Hint.QUEUE),
        (OPEN, OPEN, Hint.SKIP),
        (CLOSED, CLOSED, Hint.SKIP),
        (OPEN, CLOSED, Hint.SKIP),
        (OPEN, None, Hint.QUEUE),
    ],
)
def test_a_node_helps_that_was_opened(old, new, hint):
    assert after_node(pod(), old, new) is hint


def test_the_pods_own_toleration_of_cordoned_nodes_helps_it():
    tolerating = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}]
    ask = pod(uid="me")
    assert after_pod(ask, ask, pod(uid="me", tolerations=tolerating)) is Hint.QUEUE
    assert after_pod(ask, ask, pod(uid="me", tolerations=[{"key": "k", "operator": "Exists"}])) is Hint.SKIP
    assert after_pod(ask, ask, pod(uid="other", tolerations=tolerating)) is Hint.SKIP
