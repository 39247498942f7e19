"""Which updates are cluster events, and of what kind."""

from __future__ import annotations

import msgspec
import pytest

from replica.api.labels import labels_from
from replica.api.nodes import Node
from replica.api.pods import Pod
from replica.api.podspec import PodSpec
from replica.api.taints import Taint, Toleration
from replica.queue.changes import node_change, pod_change
from replica.queue.hints import Action, ClusterEvent, Resource

POD = Pod(name="a", namespace="n", spec=PodSpec(requests=(("cpu", 100), ("memory", 5)), gates=("g",)))
NODE = Node(name="n", allocatable=(("cpu", 4000),))


def spec(**fields):
    return {"spec": msgspec.structs.replace(POD.spec, **fields)}


@pytest.mark.parametrize(
    ("fields", "action"),
    [
        ({}, None),
        ({"mod_revision": 9, "token": 4, "value": b"x"}, None),
        ({"nominated": "node-1"}, None),
        (spec(), None),
        ({"labels": labels_from(b'{"a":"b"}')}, Action.UPDATE_POD_LABEL),
        ({"deleting": True}, Action.UPDATE_OTHER),
        (spec(gates=()), Action.UPDATE_POD_GATES),
        (spec(tolerations=(Toleration(key="k"),)), Action.UPDATE_POD_TOLERATIONS),
        (spec(requests=(("cpu", 50), ("memory", 5))), Action.UPDATE_POD_SCALE_DOWN),
        (spec(requests=(("cpu", 100),)), Action.UPDATE_POD_SCALE_DOWN),
        (spec(requests=(("cpu", 200), ("memory", 5))), Action.UPDATE_OTHER),
        (spec(priority=3), Action.UPDATE_OTHER),
        (
            {**spec(gates=()), "labels": labels_from(b'{"a":"b"}')},
            Action.UPDATE_POD_GATES | Action.UPDATE_POD_LABEL,
        ),
    ],
)
def test_a_pods_change(fields, action):
    change = pod_change(POD, msgspec.structs.replace(POD, **fields))
    assert (change.action if change else None) == action


def test_a_bound_pods_change_is_told_as_such():
    change = pod_change(POD, msgspec.structs.replace(POD, deleting=True), Resource.ASSIGNED_POD)
    assert (change.resource, str(change)) == (Resource.ASSIGNED_POD, "AssignedPodUpdate")


@pytest.mark.parametrize(
    ("fields", "action"),
    [
        ({}, None),
        ({"mod_revision": 9}, None),
        ({"allocatable": (("cpu", 8000),)}, Action.UPDATE_NODE_ALLOCATABLE),
        ({"labels": labels_from(b'{"a":"b"}')}, Action.UPDATE_NODE_LABEL),
        ({"taints": (Taint("k", "NoSchedule"),)}, Action.UPDATE_NODE_TAINT),
        ({"unschedulable": True}, Action.UPDATE_NODE_TAINT),
        ({"ready": False}, Action.UPDATE_NODE_CONDITION),
        ({"images": {"app": 5}}, Action.UPDATE_OTHER),
    ],
)
def test_a_nodes_change(fields, action):
    change = node_change(NODE, msgspec.structs.replace(NODE, **fields))
    assert (change.action if change else None) == action


@pytest.mark.parametrize(
    ("wanted", "event", "covered"),
    [
        ((Resource.NODE, Action.ADD), (Resource.NODE, Action.ADD), True),
        ((Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL), (Resource.NODE, Action.UPDATE_NODE_LABEL), True),
        ((Resource.NODE, Action.ADD), (Resource.NODE, Action.DELETE), False),
        ((Resource.NODE, Action.ADD), (Resource.POD, Action.ADD), False),
        ((Resource.ANY, Action.ADD), (Resource.POD, Action.ADD), True),
        ((Resource.NODE, Action.ADD), (Resource.ANY, Action.ALL), True),
    ],
)
def test_what_a_registration_covers(wanted, event, covered):
    assert ClusterEvent(*wanted).covers(ClusterEvent(*event)) is covered
