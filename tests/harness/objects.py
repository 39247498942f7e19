"""Pods and nodes for tests: by what matters to the test, through the manifest that a user would write."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

from lockd.ports import KeyValue
from replica.api import codec
from replica.api.keys import object_key
from replica.api.kinds import NODE, POD
from replica.api.nodes import Node

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replica.api.pods import Pod

PREFIX = "/t"
_uids = itertools.count(1)


def pod(
    name: str = "p",
    *,
    namespace: str = "default",
    requests: Mapping[str, str | int] | None = None,
    node: str = "",
    mod_revision: int = 1,
    uid: str | None = None,
    deleting: bool = False,
    phase: str = "",
    **spec: Any,
) -> Pod:
    """A pod of one container.

    Args:
        node: Bound to it already.
        spec: Further fields of `spec`, such as `tolerations` or `schedulingGates`.
    """
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{next(_uids)}" if uid is None else uid}
    if deleting:
        metadata["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    container = {"name": "main", "image": "app", "resources": {"requests": dict(requests or {})}}
    document = {
        "metadata": metadata,
        "spec": {"containers": [container], **spec},
        "status": {"phase": phase} if phase else {},
    }
    value = codec.encode(json.dumps(document).encode(), node=node)
    return codec.decode_pod(KeyValue(object_key(PREFIX, POD, name, namespace), value, mod_revision, mod_revision))


def node(
    name: str = "n",
    *,
    allocatable: Mapping[str, str | int] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: tuple[Mapping[str, str], ...] = (),
    unschedulable: bool = False,
    mod_revision: int = 1,
) -> Node:
    """A node; without `allocatable` one of 4 cores, 8Gi and 110 pods."""
    amounts = {"cpu": "4", "memory": "8Gi", "pods": 110} if allocatable is None else dict(allocatable)
    document = {
        "metadata": {"name": name, "uid": f"uid-{next(_uids)}", "labels": dict(labels or {})},
        "spec": {"taints": list(taints), "unschedulable": unschedulable},
        "status": {"allocatable": amounts},
    }
    value = codec.encode(json.dumps(document).encode())
    found = codec.decode(NODE, KeyValue(object_key(PREFIX, NODE, name), value, mod_revision, mod_revision))
    assert isinstance(found, Node)
    return found
