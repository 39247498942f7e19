"""What of a bound pod can't change."""

from __future__ import annotations

import copy

import pytest

from lockd.ports import KeyValue
from replica.api.bound_pods import forbidden_changes
from replica.api.codec import bound
from replica.api.drafts import Conflict
from replica.api.manifests import parse_manifests

SPEC = {
    "containers": [
        {"name": "c", "image": "a", "resources": {"requests": {"cpu": "100m", "memory": "1Gi"}}, "env": [{"name": "A"}]}
    ],
    "initContainers": [{"name": "i", "image": "b"}],
    "tolerations": [{"key": "k", "operator": "Exists"}],
    "nodeSelector": {"zone": "a"},
    "priority": 5,
    "overhead": {"cpu": "0.5"},
}


def change(**changes):
    after = copy.deepcopy(SPEC)
    for path, value in changes.items():
        where = after
        *parts, last = [int(part) if part.isdigit() else part for part in path.split("__")]
        for part in parts:
            where = where[part]
        if value is None:
            where.pop(last)
        else:
            where[last] = value
    return forbidden_changes(SPEC, after)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"containers__0__image": "other"},
        {"initContainers__0__image": "other"},
        {"activeDeadlineSeconds": 60},
        {"tolerations": [{"key": "new", "operator": "Exists"}, *SPEC["tolerations"]]},
        {"containers__0__resources__requests__cpu": "0.1"},
        {"containers__0__resources__requests__memory": "1024Mi"},
        {"overhead__cpu": "500m"},
        {"volumes": []},
        {"securityContext": {}},
    ],
)
def test_what_may_change(changes):
    assert change(**changes) == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"containers__0__resources__requests__cpu": "200m"},
            """spec.containers[0].resources.requests.cpu can't change from "100m" to "200m\"""",
        ),
        ({"priority": None}, "spec.priority can't change from 5 to nothing"),
        ({"nodeSelector__zone": "b"}, """spec.nodeSelector.zone can't change from "a" to "b\""""),
        ({"tolerations": []}, "spec.tolerations can't change from [{"),
        ({"containers__0__env": [{"name": "B"}]}, "spec.containers[0].env[0].name can't change"),
        ({"schedulerName": "mine"}, """spec.schedulerName can't change from nothing to "mine\""""),
        ({"containers": [*SPEC["containers"], {"name": "d"}]}, "spec.containers can't change from ["),
        ({"overhead__cpu": "600m"}, "spec.overhead.cpu can't change"),
    ],
)
def test_what_may_not_change(changes, told):
    (problem,) = change(**changes)
    assert problem.startswith(told)


POD = """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: c, image: a, resources: {requests: {cpu: 100m}}}]}
"""


def test_a_bound_pod_refuses_and_a_pending_one_does_not():
    (draft,) = parse_manifests(POD.encode(), "f")
    (larger,) = parse_manifests(POD.replace("100m", "200m").encode(), "f")
    value = draft.created(uid="u", at="2026-01-31T12:00:00Z")
    pending = KeyValue("/lockd/pods/default/p", value, 5, 5)
    assert larger.updated(pending) is not None
    placed = KeyValue("/lockd/pods/default/p", bound(value, "n1", 7, at="2026-01-31T12:00:00Z"), 6, 5)
    with pytest.raises(Conflict, match=r"bound to n1: spec\.containers\[0\]\.resources\.requests\.cpu can't change"):
        larger.updated(placed)
    (labelled,) = parse_manifests(POD.replace("name: p}", "name: p, labels: {a: b}}").encode(), "f")
    assert labelled.updated(placed) is not None
