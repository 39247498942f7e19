from __future__ import annotations

import msgspec
import pytest

from replica.framework.cycle_state import CycleState
from replica.plugins.node_name import REASON, NodeName
from tests.harness.framework import refusals, table_of
from tests.harness.objects import node, pod


@pytest.mark.parametrize(
    ("wanted", "refused"),
    [("", {}), ("a", {"b": [REASON]}), ("b", {"a": [REASON]}), ("gone", {"a": [REASON], "b": [REASON]})],
)
def test_a_pod_goes_to_the_node_it_names_or_nowhere(wanted, refused):
    nodes = table_of([node("a"), node("b")]).snapshot()
    assert refusals(NodeName(), msgspec.structs.replace(pod(), node=wanted), nodes) == refused


def test_a_pod_that_names_none_costs_nothing():
    assert NodeName().filter(CycleState(), pod(), table_of([node("a")]).snapshot()) is None


def test_a_removed_node_is_not_named_by_the_row_it_left():
    table = table_of([node("a"), node("b")])
    table.remove_node("a")
    table.set_node(node("c"))
    wants_a = msgspec.structs.replace(pod(), node="a")
    assert set(refusals(NodeName(), wants_a, table.snapshot())) == {"b", "c"}
