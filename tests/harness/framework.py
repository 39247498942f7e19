"""Plugins and profiles for tests: a table of nodes, a runtime over it, and what a pod gets."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from replica.cache.node_table import NodeTable
from replica.framework.cycle_state import CycleState
from replica.framework.diagnosis import Diagnosis
from replica.framework.interface import Handle
from replica.framework.profile import Profile, Use
from replica.framework.runtime import Runtime
from replica.framework.waiting import WaitingPods
from replica.plugins import in_tree
from tests.harness.clock import ManualClock

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from component.clock import Clock
    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.cache.nodes import Nodes
    from replica.framework.extenders import Extenders
    from replica.framework.interface import Plugin


def handle(clock: Clock | None = None, seed: int = 1) -> Handle:
    return Handle(clock or ManualClock(), random.Random(seed), WaitingPods())  # noqa: S311  # drawn tests, no secret


def table_of(nodes: Iterable[Node], placed: Iterable[tuple[str, Pod]] = ()) -> NodeTable:
    """A table with these nodes, and these pods on them."""
    table = NodeTable()
    for each in nodes:
        table.set_node(each)
    for name, pod in placed:
        table.add_pod(name, pod)
    return table


def runtime_of(
    *extra: Plugin,
    args: Mapping[str, Mapping[str, Any]] | None = None,
    weights: Mapping[str, int] | None = None,
    with_handle: Handle | None = None,
    without: Iterable[str] = (),
    extenders: Extenders | None = None,
) -> Runtime:
    """The default profile with further plugins after its own."""
    registry = in_tree.registry()
    for plugin in extra:
        registry.register(plugin.name, lambda _args, _handle, made=plugin: made)
    defaults = tuple(use for use in in_tree.DEFAULTS if use.name not in without)
    uses = (*defaults, *(Use(plugin.name, (weights or {}).get(plugin.name, 0)) for plugin in extra))
    return Runtime(Profile(defaults=uses, args=args or {}), registry, with_handle or handle(), extenders)


def refusals(plugin: Any, pod: Pod, nodes: Nodes) -> dict[str, list[str]]:
    """Node name -> why a vector plugin refuses it; only those it refuses."""
    state = CycleState()
    verdict = plugin.filter(state, pod, nodes)
    found: dict[str, list[str]] = {}
    if verdict is not None:
        reasons = plugin.explain(state, pod, nodes)
        for row, name in enumerate(nodes.names):
            if nodes.valid[row] and not verdict[row]:
                found[name] = [refusal.reason for refusal in reasons if refusal.rows[row]]
                assert found[name], f"{name} is refused without a reason"
    return found


def message_of(runtime: Runtime, pod: Pod, nodes: Nodes) -> str:
    """The one line that a pod's user gets when no node can take it."""
    found = runtime.place(CycleState(), pod, nodes)
    assert isinstance(found, Diagnosis), f"placed on {found.node_name}"
    return found.message
