"""The plain reading of whether a pod fits a node: rule by rule."""

from __future__ import annotations

import pytest

from chaos.fit import Room, admits, refusals
from chaos.history import Change
from chaos.objects import read
from tests.harness.objects import node_value, pod_value

TAINT = {"key": "dedicated", "value": "batch", "effect": "NoSchedule"}


def pod(**how):
    return read(Change("pods/default/p", 5, pod_value("p", **how), 5))


def node(**how):
    return read(Change("nodes/n1", 5, node_value("n1", **how), 5))


def why(on=None, others=(), **how):
    return refusals(pod(**how).spec, "n1", on or node(), Room(others))


def affinity(*terms):
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def expression(key, operator, *values, field="matchExpressions"):
    return {field: [{"key": key, "operator": operator, "values": list(values)}]}


def test_an_empty_node_takes_what_it_has_and_no_more():
    assert why(requests={"cpu": "4", "memory": "8Gi"}) == ()
    assert why(requests={"cpu": "4001m"}) == ("Insufficient cpu",)
    assert why(requests={"cpu": "5", "memory": "9Gi"}) == ("Insufficient cpu", "Insufficient memory")
    assert why(requests={"openb/gpu-milli": "1"}) == ("Insufficient openb/gpu-milli",)
    assert why(requests={"openb/gpu-milli": "0"}) == ()


def test_pods_on_the_node_take_their_part_unless_they_ended():
    there = [pod(requests={"cpu": "3"}, node="n1"), pod(requests={"cpu": "3"}, node="n2")]
    assert why(others=there, requests={"cpu": "1"}) == ()
    assert why(others=there, requests={"cpu": "2"}) == ("Insufficient cpu",)
    ended = pod(requests={"cpu": "3"}, node="n1", phase="Succeeded")
    assert why(others=[ended], requests={"cpu": "4"}) == ()
    full = node(allocatable={"cpu": "4", "memory": "8Gi", "pods": 2})
    assert why(full, others=[pod(node="n1"), pod(node="n1")]) == ("Insufficient pods",)


@pytest.mark.parametrize(
    ("tolerations", "refused"),
    [
        ([], True),
        ([{"key": "dedicated", "value": "batch"}], False),
        ([{"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}], False),
        ([{"key": "dedicated", "operator": "Exists"}], False),
        ([{"operator": "Exists"}], False),
        ([{"key": "dedicated", "value": "web"}], True),
        ([{"key": "other", "operator": "Exists"}], True),
        ([{"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}], True),
    ],
)
def test_taints_and_tolerations(tolerations, refused):
    assert bool(why(node(taints=(TAINT,)), tolerations=tolerations)) == refused


def test_a_taint_that_prefers_refuses_nobody():
    assert why(node(taints=({"key": "k", "effect": "PreferNoSchedule"},))) == ()
    assert why(node(taints=({"key": "k", "effect": "NoExecute"},))) == ("untolerated taint k:NoExecute",)


def test_a_cordoned_node():
    assert why(node(unschedulable=True)) == ("unschedulable",)
    tolerates = [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]
    assert why(node(unschedulable=True), tolerations=tolerates) == ()


@pytest.mark.parametrize(
    ("terms", "fits"),
    [
        ([expression("model", "In", "T4", "P100")], True),
        ([expression("model", "In", "P100")], False),
        ([expression("model", "In", "P100"), expression("model", "In", "T4")], True),
        ([expression("model", "NotIn", "P100")], True),
        ([expression("model", "NotIn", "T4")], False),
        ([expression("none", "NotIn", "T4")], True),
        ([expression("none", "In", "T4")], False),
        ([expression("model", "Exists")], True),
        ([expression("none", "Exists")], False),
        ([expression("none", "DoesNotExist")], True),
        ([expression("model", "DoesNotExist")], False),
        ([expression("cores", "Gt", "7")], True),
        ([expression("cores", "Gt", "8")], False),
        ([expression("cores", "Lt", "9")], True),
        ([expression("cores", "Lt", "8")], False),
        ([expression("model", "Gt", "8")], False),
        ([expression("none", "Lt", "8")], False),
        ([expression("metadata.name", "In", "n1", field="matchFields")], True),
        ([expression("metadata.name", "NotIn", "n1", field="matchFields")], False),
        ([{**expression("model", "In", "T4"), **expression("metadata.name", "In", "n2", field="matchFields")}], False),
        ([{}], False),
        ([], False),
    ],
)
def test_node_affinity(terms, fits):
    labelled = node(labels={"model": "T4", "cores": "8"})
    assert why(labelled, affinity=affinity(*terms)) == (() if fits else ("node affinity/selector",))


def test_a_node_selector():
    assert why(node(labels={"zone": "a"}), nodeSelector={"zone": "a"}) == ()
    assert why(node(labels={"zone": "a"}), nodeSelector={"zone": "b"}) == ("node affinity/selector",)


@pytest.mark.parametrize(
    ("wanted", "clash"),
    [
        ({"hostPort": 80}, True),
        ({"hostPort": 81}, False),
        ({"hostPort": 80, "protocol": "UDP"}, False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, True),
        ({"hostPort": 80, "hostIP": "10.0.0.2"}, False),
    ],
)
def test_host_ports(wanted, clash):
    def with_port(port, **how):
        return pod(containers=[{"name": "c", "ports": [{"containerPort": 1, **port}]}], **how)

    there = with_port({"hostPort": 80, "hostIP": "10.0.0.1"}, node="n1")
    asked = with_port(wanted)
    assert bool(refusals(asked.spec, "n1", node(), Room([there]))) == clash
    assert refusals(asked.spec, "n2", node(), Room([there])) == ()


def test_a_pod_that_needs_a_volume_fits_nowhere():
    (reason,) = why(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
    assert "persistentVolumeClaim" in reason


def test_what_a_node_admits_of_itself():
    asked = pod(nodeSelector={"disk": "ssd"}).spec
    tainted = node(labels={"disk": "hdd"}, taints=(TAINT,))
    assert admits(asked, "n1", tainted, taints=False, affinity=False)
    assert not admits(asked, "n1", tainted, taints=True, affinity=False)
    assert not admits(asked, "n1", tainted, taints=False, affinity=True)
    tolerant = pod(tolerations=[{"operator": "Exists"}]).spec
    assert admits(tolerant, "n1", tainted, taints=True, affinity=True)
