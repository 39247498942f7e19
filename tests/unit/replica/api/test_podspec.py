from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.api.podspec import HostPort, PodSpec, spec_from
from replica.api.quantities import LARGEST, QuantityError
from replica.api.resources import DEFAULT_CPU, DEFAULT_MEMORY, pod_total
from replica.api.taints import Taint, Toleration

MIB = 2**20


def spec(**fields) -> PodSpec:
    return spec_from(json.dumps({"containers": [{"name": "c"}], **fields}).encode())


def requests(**fields) -> dict[str, int]:
    found = dict(spec(**fields).requests)
    assert found.pop("pods") == 1
    return found


def container(cpu=None, *, limit=None, always=False, **more):
    resources = {}
    if cpu is not None:
        resources["requests"] = {"cpu": cpu}
    if limit is not None:
        resources["limits"] = {"cpu": limit}
    return {"name": "c", "resources": resources, **({"restartPolicy": "Always"} if always else {}), **more}


@pytest.mark.parametrize(
    ("fields", "cpu"),
    [
        ({"containers": [container("100m"), container("200m")]}, 300),
        ({"containers": [container(), container()]}, None),
        ({"containers": [container("0")]}, 0),
        ({"containers": [container(limit="2")]}, 2000),
        ({"containers": [container("1", limit="2")]}, 1000),
        ({"containers": [container("1")], "initContainers": [container("3"), container("2")]}, 3000),
        ({"containers": [container("4")], "initContainers": [container("3")]}, 4000),
        ({"containers": [container("1")], "initContainers": [container("1", always=True)]}, 2000),
        ({"containers": [container("1")], "initContainers": [container("1", always=True), container("3")]}, 4000),
        ({"containers": [container("1")], "initContainers": [container("3"), container("1", always=True)]}, 3000),
        ({"containers": [container("1")], "overhead": {"cpu": "250m"}}, 1250),
        ({"containers": [container("1")], "initContainers": [container("3")], "overhead": {"cpu": "1"}}, 4000),
        ({"containers": [container("1")], "resources": {"requests": {"cpu": "5"}}}, 5000),
        ({"containers": [container("1")], "resources": {"limits": {"cpu": "5"}}, "overhead": {"cpu": 1}}, 6000),
        ({"containers": [container(0.5)]}, 500),
        ({"containers": [container("1n")]}, 1),
    ],
)
def test_cpu_requests(fields, cpu):
    assert requests(**fields).get("cpu") == cpu


def test_other_resources_are_counted_in_their_units():
    resources = {"memory": "1.5Gi", "ephemeral-storage": "1k", "hugepages-2Mi": "4Mi", "nvidia.com/gpu": 2}
    found = requests(containers=[{"resources": {"limits": resources}}])
    assert found == {
        "memory": 1536 * MIB,
        "ephemeral-storage": 1000,
        "hugepages-2Mi": 4 * MIB,
        "nvidia.com/gpu": 2,
    }


@pytest.mark.parametrize(
    ("resource", "quantity", "problem"),
    [("cpu", "1x", 'cpu: "1x"'), ("memory", "-1", "negative"), ("nvidia.com/gpu", "0.5", "whole number")],
)
def test_bad_amounts_name_the_resource(resource, quantity, problem):
    with pytest.raises(QuantityError, match=problem):
        spec(containers=[{"resources": {"requests": {resource: quantity}}}])


def test_sums_stay_within_64_bits():
    assert requests(containers=[container("8Ei"), container("8Ei")])["cpu"] == LARGEST


def test_scoring_counts_containers_that_ask_for_nothing():
    found = spec(containers=[container("1"), container()])
    assert (found.scoring_cpu, found.scoring_memory) == (1000 + DEFAULT_CPU, 2 * DEFAULT_MEMORY)
    assert spec(containers=[container("0")]).scoring_cpu == 0


amounts = st.integers(0, 5)


@given(st.lists(amounts, max_size=3), st.lists(st.tuples(amounts, st.booleans()), max_size=4), amounts)
def test_a_pods_total_is_its_greediest_moment(containers, init, overhead):
    moments, running = [], 0
    for cpu, restartable in init:
        moments.append(running + cpu)
        running += cpu if restartable else 0
    moments.append(running + sum(containers))
    total = pod_total(
        [{"cpu": each} for each in containers], [({"cpu": cpu}, keep) for cpu, keep in init], {"cpu": overhead}
    )
    assert total.get("cpu", 0) == max(moments) + overhead


def test_host_ports():
    port = {"containerPort": 80, "hostPort": 8080}
    found = spec(
        containers=[{"ports": [port, {"containerPort": 81}, {**port, "hostIP": "10.0.0.1", "protocol": "UDP"}]}],
        initContainers=[{"ports": [{"containerPort": 1, "hostPort": 1}]}],
    )
    assert found.host_ports == (HostPort("TCP", "0.0.0.0", 8080), HostPort("UDP", "10.0.0.1", 8080))


def test_with_the_hosts_network_each_port_is_the_nodes():
    found = spec(hostNetwork=True, containers=[{"ports": [{"containerPort": 81}]}])
    assert found.host_ports == (HostPort("TCP", "0.0.0.0", 81),)


@pytest.mark.parametrize("source", ["persistentVolumeClaim", "csi", "ephemeral", "awsElasticBlockStore"])
def test_volumes_of_nodes_are_refused(source):
    assert source in spec(volumes=[{"name": "data", source: {}}]).unsupported[0]


@pytest.mark.parametrize("source", ["hostPath", "emptyDir", "configMap", "secret", "projected", "downwardAPI"])
def test_harmless_volumes(source):
    assert spec(volumes=[{"name": "data", source: {}}, {"name": "bare"}]).unsupported == ()


def test_dynamic_resources_are_refused():
    assert "resource claims" in spec(resourceClaims=[{"name": "gpu"}]).unsupported[0]


def test_defaults():
    found = spec()
    assert found.scheduler == "default-scheduler"
    assert found.preemption == ""
    assert found.priority is None
    assert found.requests == (("pods", 1),)


def test_null_is_absent():
    found = spec(affinity=None, tolerations=None, nodeSelector=None, containers=[{"resources": None, "image": None}])
    assert found == spec(containers=[{}])


def test_equal_specifications_are_one_object():
    one = spec_from(b'{"containers":[{"image":"a"}]}')
    assert spec_from(b'{"containers":[{"image":"a"}]}') is one
    assert spec_from(b'{ "containers": [{"image":"a"}] }') is one
    assert spec_from(b'{"containers":[{"image":"a","x":"' + b"y" * 5000 + b'"}]}') is one


@pytest.mark.parametrize(
    ("toleration", "taint", "tolerated"),
    [
        (Toleration("k", "Equal", "v", "NoSchedule"), Taint("k", "NoSchedule", "v"), True),
        (Toleration("k", "", "v", "NoSchedule"), Taint("k", "NoSchedule", "v"), True),
        (Toleration("k", "Equal", "w", "NoSchedule"), Taint("k", "NoSchedule", "v"), False),
        (Toleration("k", "Equal", "v", "NoExecute"), Taint("k", "NoSchedule", "v"), False),
        (Toleration("k", "Equal", "v"), Taint("k", "NoExecute", "v"), True),
        (Toleration("j", "Equal", "v"), Taint("k", "NoSchedule", "v"), False),
        (Toleration("k", "Exists"), Taint("k", "NoSchedule", "v"), True),
        (Toleration("j", "Exists"), Taint("k", "NoSchedule", "v"), False),
        (Toleration("", "Exists"), Taint("k", "NoSchedule", "v"), True),
        (Toleration("", "Exists", "", "NoExecute"), Taint("k", "NoSchedule", "v"), False),
        (Toleration("", "Equal", ""), Taint("k", "NoSchedule", ""), False),
        (Toleration("k", "Near", "v"), Taint("k", "NoSchedule", "v"), False),
    ],
)
def test_tolerations(toleration, taint, tolerated):
    assert toleration.tolerates(taint) is tolerated


def test_affinity_and_spread_are_read():
    term = {"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["a", "b"]}]}
    pod_term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}
    required, preferred = (
        "requiredDuringSchedulingIgnoredDuringExecution",
        "preferredDuringSchedulingIgnoredDuringExecution",
    )
    found = spec(
        affinity={
            "nodeAffinity": {
                required: {"nodeSelectorTerms": [term]},
                preferred: [{"weight": 5, "preference": term}],
            },
            "podAntiAffinity": {required: [pod_term], preferred: [{"weight": 7, "podAffinityTerm": pod_term}]},
        },
        topologySpreadConstraints=[
            {"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
        ],
        nodeSelector={"b": "2", "a": "1"},
    )
    assert found.affinity is not None
    assert found.affinity.node_affinity.required.node_selector_terms[0].match_expressions[0].values == ("a", "b")
    assert found.affinity.node_affinity.preferred[0].weight == 5
    assert found.affinity.pod_affinity is None
    assert found.affinity.pod_anti_affinity.required[0].label_selector.match_labels == {"app": "web"}
    assert found.affinity.pod_anti_affinity.preferred[0].pod_affinity_term.topology_key == "zone"
    assert found.spread[0].max_skew == 2
    assert found.node_selector == (("a", "1"), ("b", "2"))
    assert hash(found) == hash(found)
