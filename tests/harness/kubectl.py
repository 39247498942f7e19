"""What `kubectl get nodes,pods -o yaml` prints of a cluster in use: about 13 kB a pod, most of it not for us."""

from __future__ import annotations

import hashlib
import json
import uuid
from typing import Any

import yaml

from tests.harness.kubectl_pod import (
    AT,
    ZONE,
    fields,
    managed,
    managed_metadata,
    managed_spec,
    managed_status,
    pod_spec,
)

APPS = ("checkout", "search", "mailer")
"""Deployments; the name is the namespace's too."""


def uid_of(*words: object) -> str:
    """The same uid for the same words."""
    return str(uuid.UUID(bytes=hashlib.sha256(repr(words).encode()).digest()[:16], version=4))


def listing(items: list[dict[str, Any]]) -> str:
    """The List that kubectl prints: fields sorted, nothing left out."""
    document = {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}
    return yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=True, default_flow_style=False, width=10_000)


def node(number: int) -> dict[str, Any]:
    """A worker of 64 cores."""
    name = f"worker-{number:02}.example.net"
    resources = {
        "cpu": "64",
        "ephemeral-storage": "479079112Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": "263846872Ki",
        "pods": "110",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "annotations": {
                "csi.volume.kubernetes.io/nodeid": json.dumps({"csi.example.net": name}),
                "node.alpha.kubernetes.io/ttl": "0",
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
            "creationTimestamp": AT,
            "labels": {
                "beta.kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "node-role.kubernetes.io/worker": "",
                "topology.kubernetes.io/region": "north",
                ZONE: f"north-{'abc'[number % 3]}",
            },
            "managedFields": [
                managed("kubeadm", {"f:metadata": {"f:labels": fields("node-role.kubernetes.io/worker")}}),
                managed("kubelet", {"f:status": {"f:images": {}, "f:nodeInfo": {}}}, subresource="status"),
            ],
            "name": name,
            "resourceVersion": str(81_000_000 + number),
            "uid": uid_of("node", number),
        },
        "spec": {"podCIDR": f"10.244.{number}.0/24", "podCIDRs": [f"10.244.{number}.0/24"]},
        "status": {
            "addresses": [
                {"address": f"192.0.2.{number + 10}", "type": "InternalIP"},
                {"address": name, "type": "Hostname"},
            ],
            "allocatable": {**resources, "cpu": "63500m", "memory": "262798296Ki"},
            "capacity": resources,
            "conditions": [
                _node_condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                _node_condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                _node_condition("PIDPressure", "False", "KubeletHasSufficientPID"),
                _node_condition("Ready", "True", "KubeletReady"),
            ],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "images": [
                {
                    "names": [
                        f"registry.example.net/{app}@sha256:{hashlib.sha256(app.encode()).hexdigest()}",
                        f"registry.example.net/{app}:1.27.3",
                    ],
                    "sizeBytes": 187_000_000 + index,
                }
                for index, app in enumerate(APPS)
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": uid_of("boot", number),
                "containerRuntimeVersion": "containerd://2.0.4",
                "kernelVersion": "6.8.0-63-generic",
                "kubeProxyVersion": "",
                "kubeletVersion": "v1.33.2",
                "machineID": uid_of("machine", number).replace("-", ""),
                "operatingSystem": "linux",
                "osImage": "Ubuntu 24.04.2 LTS",
                "systemUUID": uid_of("system", number),
            },
        },
    }


def pod(number: int, *, on: str = "") -> dict[str, Any]:
    """A pod of a deployment: running on a node, or pending."""
    app = APPS[number % len(APPS)]
    replica_set = f"{app}-{hashlib.sha256(app.encode()).hexdigest()[:9]}"
    suffix = hashlib.sha256(f"{app}{number}".encode()).hexdigest()[:5]
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": {
                "checksum/config": hashlib.sha256(b"config" + app.encode()).hexdigest(),
                "kubectl.kubernetes.io/restartedAt": "2026-01-31T11:59:58+01:00",
                "prometheus.io/path": "/metrics",
                "prometheus.io/port": "9102",
                "prometheus.io/scrape": "true",
            },
            "creationTimestamp": AT,
            "generateName": f"{replica_set}-",
            "generation": 1,
            "labels": {
                "app.kubernetes.io/instance": app,
                "app.kubernetes.io/managed-by": "Helm",
                "app.kubernetes.io/name": app,
                "pod-template-hash": replica_set.rpartition("-")[2],
            },
            "managedFields": [
                managed(
                    "kube-controller-manager",
                    {"f:metadata": managed_metadata(uid_of("replicaset", app)), "f:spec": managed_spec()},
                ),
                managed("kube-scheduler", {"f:status": {"f:conditions": {}}}, subresource="status"),
                *([managed("kubelet", {"f:status": managed_status()}, subresource="status")] if on else []),
            ],
            "name": f"{replica_set}-{suffix}",
            "namespace": app,
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "blockOwnerDeletion": True,
                    "controller": True,
                    "kind": "ReplicaSet",
                    "name": replica_set,
                    "uid": uid_of("replicaset", app),
                }
            ],
            "resourceVersion": str(82_000_000 + number),
            "uid": uid_of("pod", number),
        },
        "spec": pod_spec(app, suffix),
        "status": _running(number) if on else _pending(),
    }
    if on:
        document["spec"]["nodeName"] = on
    return document


def _pending() -> dict[str, Any]:
    return {
        "conditions": [
            {
                "lastProbeTime": None,
                "lastTransitionTime": AT,
                "message": "0/12 nodes are available: 12 Insufficient cpu. preemption: not eligible.",
                "observedGeneration": 1,
                "reason": "Unschedulable",
                "status": "False",
                "type": "PodScheduled",
            }
        ],
        "phase": "Pending",
        "qosClass": "Burstable",
    }


def _running(number: int) -> dict[str, Any]:
    def container(name: str) -> dict[str, Any]:
        return {
            "containerID": f"containerd://{hashlib.sha256(f'{name}{number}'.encode()).hexdigest()}",
            "image": f"registry.example.net/{name}:1.27.3",
            "imageID": f"registry.example.net/{name}@sha256:{hashlib.sha256(name.encode()).hexdigest()}",
            "lastState": {},
            "name": name,
            "ready": True,
            "restartCount": 0,
            "started": True,
            "state": {"running": {"startedAt": AT}},
        }

    conditions = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "conditions": [
            {"lastProbeTime": None, "lastTransitionTime": AT, "status": "True", "type": each} for each in conditions
        ],
        "containerStatuses": [container(APPS[number % len(APPS)]), container("envoy")],
        "hostIP": "192.0.2.10",
        "hostIPs": [{"ip": "192.0.2.10"}],
        "phase": "Running",
        "podIP": f"10.244.0.{number % 250 + 2}",
        "podIPs": [{"ip": f"10.244.0.{number % 250 + 2}"}],
        "qosClass": "Burstable",
        "startTime": AT,
    }


def _node_condition(type_: str, status: str, reason: str) -> dict[str, Any]:
    return {
        "lastHeartbeatTime": AT,
        "lastTransitionTime": AT,
        "message": f"kubelet says {reason}",
        "reason": reason,
        "status": status,
        "type": type_,
    }
