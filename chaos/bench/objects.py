"""The nodes and pods of a benchmark: of the size that a Deployment's are, and quick to make."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lockd.ports import Put, Txn
from replica.api.codec import encode
from replica.api.keys import object_key
from replica.api.kinds import NODE, POD

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lockd.etcd.gateway import Gateway

NAMESPACE: Final = "bench"
CREATED: Final = "2026-01-01T00:00:00Z"
CHUNK: Final = 100
"""Objects in one transaction; etcd takes 128 operations."""

TIMEOUT: Final = 30.0


def pod_puts(prefix: str, first: int, count: int) -> list[Put]:
    """Pods `pod-<first>` and on: 20 to a Deployment, so to a template."""
    return [_put(prefix, POD, NAMESPACE, _pod(number)) for number in range(first, first + count)]


def create_nodes(gateway: Gateway, prefix: str, count: int) -> None:
    """Nodes `node-0` and on, of 32 cores, for 110 pods each.

    Raises:
        StoreError: etcd did not take one.
    """
    write_all(gateway, [_put(prefix, NODE, "", _node(number)) for number in range(count)])


def write_all(gateway: Gateway, puts: list[Put]) -> None:
    """Put all of these, a hundred in a transaction.

    Raises:
        StoreError: etcd did not take one.
    """
    for first in range(0, len(puts), CHUNK):
        gateway.txn(Txn((), tuple(puts[first : first + CHUNK])), timeout=TIMEOUT)


def chunks(count: int) -> Iterable[tuple[int, int]]:
    """(first, how many) of each transaction's objects."""
    return ((first, min(CHUNK, count - first)) for first in range(0, count, CHUNK))


def _put(prefix: str, kind: Any, namespace: str, document: dict[str, Any]) -> Put:
    metadata = document["metadata"]
    uid = uuid.uuid5(uuid.NAMESPACE_URL, metadata["name"])  # whoever makes it again makes the same
    metadata |= {"uid": str(uid), "creationTimestamp": CREATED}
    return Put(object_key(prefix, kind, metadata["name"], namespace), encode(msgspec.json.encode(document)))


def _node(number: int) -> dict[str, Any]:
    room = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "200Gi"}
    labels = {
        "kubernetes.io/hostname": f"node-{number}",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": f"zone-{number % 3}",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"node-{number}", "labels": labels},
        "status": {"capacity": room, "allocatable": room},
    }


def _pod(number: int) -> dict[str, Any]:
    application, replicas = f"app-{number // 20 % 50}", f"app-{number // 20}-7d9c5b6f4"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"pod-{number}",
            "namespace": NAMESPACE,
            "labels": {"app": application, "pod-template-hash": "7d9c5b6f4"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": replicas, "controller": True}],
        },
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": f"registry.example/{application}:1.0",
                    "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                    "env": [{"name": "MODE", "value": "production"}],
                    "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
                }
            ],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
        },
    }
