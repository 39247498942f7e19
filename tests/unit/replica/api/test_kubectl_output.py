"""Manifests as kubectl gives them, managed fields and all, apply unchanged and read back unchanged."""

from __future__ import annotations

import copy

import pytest

from lockd.ports import KeyValue
from replica.api.codec import decode
from replica.api.documents import parse_documents, write_yaml
from replica.api.drafts import to_manifest
from replica.api.manifests import parse_manifests

POD = """
apiVersion: v1
kind: Pod
metadata:
  annotations:
    kubernetes.io/limit-ranger: 'LimitRanger plugin set: cpu request for container web'
  creationTimestamp: "2026-01-31T12:00:00Z"
  generateName: web-7d4b9c6f5-
  generation: 1
  labels:
    app: web
    pod-template-hash: 7d4b9c6f5
  managedFields:
  - apiVersion: v1
    fieldsType: FieldsV1
    fieldsV1:
      f:metadata:
        f:labels:
          .: {}
          f:app: {}
        f:ownerReferences:
          k:{"uid":"2f7d1c1e-0b64-4f0c-8ad9-0c1f6cf2b6a1"}: {}
      f:spec:
        f:containers:
          k:{"name":"web"}:
            .: {}
            f:image: {}
    manager: kube-controller-manager
    operation: Update
    time: "2026-01-31T12:00:00Z"
  name: web-7d4b9c6f5-x2v8k
  namespace: shop
  ownerReferences:
  - apiVersion: apps/v1
    blockOwnerDeletion: true
    controller: true
    kind: ReplicaSet
    name: web-7d4b9c6f5
    uid: 2f7d1c1e-0b64-4f0c-8ad9-0c1f6cf2b6a1
  resourceVersion: "123456"
  uid: 5f0c9e0a-5c1a-4f55-9a43-0f4d8c1f3f10
spec:
  containers:
  - image: nginx:1.27
    imagePullPolicy: IfNotPresent
    livenessProbe:
      failureThreshold: 3
      httpGet: {path: /healthz, port: http, scheme: HTTP}
      periodSeconds: 10
    name: web
    ports:
    - containerPort: 8080
      name: http
      protocol: TCP
    resources:
      limits: {cpu: 500m, memory: 256Mi}
      requests: {cpu: 250m, memory: 256Mi}
    terminationMessagePath: /dev/termination-log
    volumeMounts:
    - mountPath: /var/run/secrets/kubernetes.io/serviceaccount
      name: kube-api-access-7xkqp
      readOnly: true
  dnsPolicy: ClusterFirst
  enableServiceLinks: true
  preemptionPolicy: PreemptLowerPriority
  priority: 0
  restartPolicy: Always
  schedulerName: default-scheduler
  securityContext: {}
  serviceAccountName: default
  terminationGracePeriodSeconds: 30
  tolerations:
  - effect: NoExecute
    key: node.kubernetes.io/not-ready
    operator: Exists
    tolerationSeconds: 300
  volumes:
  - name: kube-api-access-7xkqp
    projected:
      defaultMode: 420
      sources:
      - serviceAccountToken: {expirationSeconds: 3607, path: token}
status:
  conditions:
  - lastProbeTime: null
    lastTransitionTime: "2026-01-31T12:00:00Z"
    message: '0/3 nodes are available: 3 Insufficient cpu.'
    reason: Unschedulable
    status: "False"
    type: PodScheduled
  phase: Pending
  qosClass: Burstable
"""

NODE = """
apiVersion: v1
kind: Node
metadata:
  creationTimestamp: "2026-01-31T11:00:00Z"
  labels: {beta.kubernetes.io/arch: amd64, kubernetes.io/hostname: node-1, node-role.kubernetes.io/worker: ""}
  name: node-1
  resourceVersion: "99"
  uid: 0c6a3a5e-93bd-4a53-8f0e-26a2a58c2b11
spec:
  podCIDR: 10.244.1.0/24
  taints:
  - {effect: NoSchedule, key: dedicated, timeAdded: "2026-01-31T11:00:00Z", value: batch}
status:
  addresses:
  - {address: 192.168.1.10, type: InternalIP}
  allocatable: {cpu: 3920m, ephemeral-storage: "47093746742", hugepages-2Mi: "0", memory: 7576Mi, pods: "58"}
  capacity: {cpu: "4", ephemeral-storage: 51188Mi, hugepages-2Mi: "0", memory: 8Gi, pods: "58"}
  conditions:
  - {lastHeartbeatTime: "2026-01-31T12:00:00Z", message: ready, reason: KubeletReady, status: "True", type: Ready}
  images:
  - names: ["docker.io/library/nginx@sha256:0a1b", "docker.io/library/nginx:1.27"]
    sizeBytes: 72000000
  nodeInfo: {kubeletVersion: v1.33.1, operatingSystem: linux}
"""


def store(text):
    (draft,) = parse_manifests(text.encode(), "f")
    key = f"/lockd/{draft.kind.plural}/{draft.namespace}/{draft.name}".replace("//", "/")
    return draft, KeyValue(key, draft.created(uid="unused", at="unused"), 5, 5)


@pytest.mark.parametrize("text", [POD, NODE], ids=["pod", "node"])
def test_it_reads_back_unchanged_but_for_status(text):
    (document,) = parse_documents(text)
    expected = copy.deepcopy(document.value)
    conditions = [each for each in expected["status"]["conditions"] if each["type"] != "PodScheduled"]
    expected["status"] = {**expected["status"], "conditions": conditions, "fencingToken": 0}
    if not conditions:
        del expected["status"]["conditions"]
    draft, kv = store(text)
    found = to_manifest(draft.kind, kv)
    assert found == expected
    assert draft.updated(kv) is None
    (again,) = parse_manifests(write_yaml(found).encode(), "again")
    assert again.updated(kv) is None


def test_what_scheduling_reads_of_it():
    draft, kv = store(POD)
    pod = decode(draft.kind, kv)
    assert pod.pending
    assert dict(pod.spec.requests) == {"cpu": 250, "memory": 2**28, "pods": 1}
    assert (pod.spec.priority, pod.spec.unsupported, pod.uid) == (0, (), "5f0c9e0a-5c1a-4f55-9a43-0f4d8c1f3f10")
    assert pod.spec.tolerations[0].key == "node.kubernetes.io/not-ready"
    draft, kv = store(NODE)
    node = decode(draft.kind, kv)
    assert dict(node.allocatable)["cpu"] == 3920
    assert dict(node.allocatable)["memory"] == 7576 * 2**20
    assert str(node.taints[0]) == "dedicated=batch:NoSchedule"
    assert node.images["docker.io/library/nginx:1.27"] == 72000000
