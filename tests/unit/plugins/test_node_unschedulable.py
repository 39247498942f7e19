from __future__ import annotations

import pytest

from replica.plugins.node_unschedulable import REASON, NodeUnschedulable
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
