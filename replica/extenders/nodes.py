"""Nodes as documents for extenders that don't know them: what the scheduler itself keeps of a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from replica.api.resources import CPU

if TYPE_CHECKING:
    from replica.api.nodes import Node


def node_document(node: Node) -> dict[str, Any]:
    """A v1 Node with its names, labels, taints, allocatable amounts, images and readiness."""
    amounts = {name: f"{count}m" if name == CPU else str(count) for name, count in node.allocatable}
    taints = [{"key": each.key, "value": each.value, "effect": each.effect} for each in node.taints]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "uid": node.uid, "labels": dict(node.labels)},
        "spec": {"unschedulable": node.unschedulable, "taints": taints},
        "status": {
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True" if node.ready else "False"}],
            "images": [{"names": [name], "sizeBytes": size} for name, size in node.images.items()],
        },
    }
