"""The nodes and pods of a benchmark: of the size that a Deployment's are, and quick to make."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lockd.ports import Put, Txn
from replica.api.codec import encode
from replica.api.keys import object_key
from replica.api.kinds import NODE, POD, POD_GROUP
from replica.api.pods import GROUP_LABEL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lockd.etcd.gateway import Gateway

NAMESPACE: Final = "bench"
CREATED: Final = "2026-01-01T00:00:00Z"
CHUNK: Final = 100
"""Objects in one transaction; etcd takes 128 operations."""

TIMEOUT: Final = 30.0

PLAIN: Final = "plain"
PREEMPTING: Final = "preempting"
SPREAD: Final = "spread"
APART: Final = "apart"
CROWD: Final = 1000
"""Pods that keep off each other's nodes: as many as the smallest benchmark has nodes."""

GANGS: Final = "gangs"

GANG: Final = 8
"""Pods of a gang, none of which is bound without the others."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What pods and nodes of a benchmark look like.

    Attributes:
        pod: The manifest of a pod, by its number.
        cores: Of a node.
        standing: Pods that are on each node beforehand.
        stands: The manifest of such a pod, by its number.
        most: How many pods there can be on so many nodes.
        gang: How many pods name one PodGroup; 0: none does.
    """

    pod: Callable[[int], dict[str, Any]]
    cores: int = 32
    standing: int = 0
    stands: Callable[[int], dict[str, Any]] | None = None
    most: Callable[[int], int] = lambda nodes: nodes * 110
    gang: int = 0

    def pods(self, wanted: int, nodes: int) -> int:
        """How many of those wanted there can be, in whole gangs."""
        found = min(wanted, self.most(nodes))
        return found // self.gang * self.gang if self.gang else found


def pod_puts(prefix: str, first: int, count: int, shape: str = PLAIN) -> list[Put]:
    """Pods `pod-<first>` and on: 20 to a Deployment, so to a template."""
    made = SHAPES[shape].pod
    return [_put(prefix, POD, NAMESPACE, made(number)) for number in range(first, first + count)]


def create_nodes(gateway: Gateway, prefix: str, count: int, shape: str = PLAIN) -> None:
    """Nodes `node-0` and on, of 32 cores, for 110 pods each, and the pods that stand on them beforehand.

    Raises:
        StoreError: etcd did not take one.
    """
    made = SHAPES[shape]
    write_all(gateway, [_put(prefix, NODE, "", _node(number, made.cores)) for number in range(count)])
    if made.stands is not None:
        there = range(count * made.standing)
        write_all(
            gateway,
            [_put(prefix, POD, NAMESPACE, made.stands(number), node=f"node-{number % count}") for number in there],
        )


def create_groups(gateway: Gateway, prefix: str, pods: int, shape: str = PLAIN) -> None:
    """The PodGroups that so many pods name.

    Raises:
        StoreError: etcd did not take one.
    """
    if size := SHAPES[shape].gang:
        write_all(gateway, [_put(prefix, POD_GROUP, NAMESPACE, _group(number)) for number in range(pods // size)])


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


def _put(prefix: str, kind: Any, namespace: str, document: dict[str, Any], *, node: str = "") -> Put:
    metadata = document["metadata"]
    uid = uuid.uuid5(uuid.NAMESPACE_URL, metadata["name"])  # whoever makes it again makes the same
    metadata |= {"uid": str(uid), "creationTimestamp": CREATED}
    value = encode(msgspec.json.encode(document), node=node)
    return Put(object_key(prefix, kind, metadata["name"], namespace), value)


def _node(number: int, cores: int) -> dict[str, Any]:
    room = {"cpu": str(cores), "memory": "128Gi", "pods": "110", "ephemeral-storage": "200Gi"}
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


def _small(name: str, cpu: str, priority: int) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"app": name.partition("-")[0]}},
        "spec": {
            "priority": priority,
            "containers": [
                {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu, "memory": "500Mi"}}}
            ],
            "terminationGracePeriodSeconds": 0,
        },
    }


def _member(number: int) -> dict[str, Any]:
    pod = _pod(number)
    pod["metadata"]["labels"][GROUP_LABEL] = f"gang-{number // GANG}"
    return pod


def _group(number: int) -> dict[str, Any]:
    return {
        "apiVersion": POD_GROUP.versions[0],
        "kind": POD_GROUP.kind,
        "metadata": {"name": f"gang-{number}", "namespace": NAMESPACE},
        "spec": {"minMember": GANG},
    }


def _spread(number: int) -> dict[str, Any]:
    """Each application must be spread over zones and over nodes as evenly as can be."""
    pod = _pod(number)
    selector = {"matchLabels": {"app": pod["metadata"]["labels"]["app"]}}
    pod["spec"]["topologySpreadConstraints"] = [
        {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
        for key in ("topology.kubernetes.io/zone", "kubernetes.io/hostname")
    ]
    return pod


def _apart(number: int) -> dict[str, Any]:
    """A thousand pods each must keep off each other's nodes."""
    pod = _pod(number)
    crowd = {"crowd": f"crowd-{number // CROWD}"}
    pod["metadata"]["labels"] |= crowd
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": crowd}}
    pod["spec"]["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return pod


SHAPES: Final = {
    PLAIN: Shape(_pod),
    SPREAD: Shape(_spread),
    APART: Shape(_apart),
    GANGS: Shape(_member, gang=GANG),
    # Four on each node that leave no room for one more, three of which have to go for it.
    PREEMPTING: Shape(
        lambda number: _small(f"pod-{number}", "3", 10),
        cores=4,
        standing=4,
        stands=lambda number: _small(f"standing-{number}", "900m", 0),
        most=lambda nodes: nodes,
    ),
}
"""By name."""
