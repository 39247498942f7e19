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
from replica.api.pods import GROUP_LABEL

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
    group: str = "",
    **spec: Any,
) -> Pod:
    """A pod of one container.

    Args:
        node: Bound to it already.
        group: Its PodGroup.
        spec: Further fields of `spec`, such as `tolerations` or `schedulingGates`.
    """
    value = pod_value(
        name,
        namespace=namespace,
        requests=requests,
        node=node,
        uid=uid,
        deleting=deleting,
        phase=phase,
        group=group,
        **spec,
    )
    return codec.decode_pod(KeyValue(object_key(PREFIX, POD, name, namespace), value, mod_revision, mod_revision))


def pod_value(
    name: str,
    *,
    namespace: str = "default",
    requests: Mapping[str, str | int] | None = None,
    node: str = "",
    uid: str | None = None,
    deleting: bool = False,
    phase: str = "",
    group: str = "",
    labels: Mapping[str, str] | None = None,
    **spec: Any,
) -> bytes:
    """The same as it is stored."""
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "uid": f"uid-{next(_uids)}" if uid is None else uid,
        "labels": {**(labels or {}), **({GROUP_LABEL: group} if group else {})},
    }
    if deleting:
        metadata["deletionTimestamp"] = "2030-01-01T00:00:00Z"
    container = {"name": "main", "image": "app", "resources": {"requests": dict(requests or {})}}
    document = {
        "metadata": metadata,
        "spec": {"containers": [container], **spec},
        "status": {"phase": phase} if phase else {},
    }
    return codec.encode(json.dumps(document).encode(), node=node)


def node(
    name: str = "n",
    *,
    allocatable: Mapping[str, str | int] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: tuple[Mapping[str, str], ...] = (),
    unschedulable: bool = False,
    images: Mapping[str, int] | None = None,
    mod_revision: int = 1,
) -> Node:
    """A node; without `allocatable` one of 4 cores, 8Gi and 110 pods."""
    value = node_value(
        name, allocatable=allocatable, labels=labels, taints=taints, unschedulable=unschedulable, images=images
    )
    found = codec.decode(NODE, KeyValue(object_key(PREFIX, NODE, name), value, mod_revision, mod_revision))
    assert isinstance(found, Node)
    return found


def node_value(
    name: str,
    *,
    allocatable: Mapping[str, str | int] | None = None,
    labels: Mapping[str, str] | None = None,
    taints: tuple[Mapping[str, str], ...] = (),
    unschedulable: bool = False,
    images: Mapping[str, int] | None = None,
) -> bytes:
    """The same as it is stored."""
    amounts = {"cpu": "4", "memory": "8Gi", "pods": 110} if allocatable is None else dict(allocatable)
    document = {
        "metadata": {"name": name, "uid": f"uid-{next(_uids)}", "labels": dict(labels or {})},
        "spec": {"taints": list(taints), "unschedulable": unschedulable},
        "status": {
            "allocatable": amounts,
            "images": [{"names": [image], "sizeBytes": size} for image, size in (images or {}).items()],
        },
    }
    return codec.encode(json.dumps(document).encode())
