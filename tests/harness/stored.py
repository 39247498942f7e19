"""Pods and nodes as they stand in etcd, for tests of what reads them from there."""

from __future__ import annotations

import json

from replica.api import codec
from replica.api.keys import object_key
from replica.api.kinds import NODE, POD

PREFIX = "/t"


def pod_key(name: str, namespace: str = "default") -> str:
    return object_key(PREFIX, POD, name, namespace)


def node_key(name: str) -> str:
    return object_key(PREFIX, NODE, name)


def pod_value(
    name: str, *, uid: str = "", cpu: str = "100m", node: str = "", phase: str = "", token: int = 0, size: int = 0
) -> bytes:
    """A pod's value.

    Args:
        size: Bytes of an annotation that nobody reads, to make it as large as pods are.
    """
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "uid": uid or f"uid-{name}", "annotations": {"padding": "x" * size}},
        "spec": {"containers": [{"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}]},
        "status": {"phase": phase} if phase else {},
    }
    return codec.encode(json.dumps(manifest).encode(), node=node, token=token)


def node_value(name: str, *, cpu: str = "4") -> bytes:
    manifest = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": 110}},
    }
    return codec.encode(json.dumps(manifest).encode())
