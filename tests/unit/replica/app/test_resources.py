from __future__ import annotations

import msgspec
import pytest

from component.handlers import Request
from replica.api.pods import Pod
from replica.api.podspec import spec_from
from replica.app.resources import exposition, resources_page


def pod(name="web", *, node="", phase="", **spec):
    return Pod(name=name, namespace="default", spec=spec_from(msgspec.json.encode(spec)), node=node, phase=phase)


def container(requests=None, limits=None):
    return {"name": "c", "resources": {"requests": requests or {}, "limits": limits or {}}}


def lines(*pods):
    return [line for line in exposition(pods).decode().splitlines() if not line.startswith("#")]


def sample(metric, resource, unit, value, *, node="", priority="", scheduler="default-scheduler"):
    return (
        f'{metric}{{namespace="default",pod="web",node="{node}",scheduler="{scheduler}",priority="{priority}",'
        f'resource="{resource}",unit="{unit}"}} {value}'
    )


@pytest.mark.parametrize(
    ("resource", "quantity", "unit", "value"),
    [
        ("cpu", "100m", "cores", "0.1"),
        ("cpu", "2", "cores", "2"),
        ("cpu", "2500m", "cores", "2.5"),
        ("memory", "1Gi", "bytes", "1073741824"),
        ("ephemeral-storage", "1G", "bytes", "1000000000"),
        ("hugepages-2Mi", "4Mi", "bytes", "4194304"),
        ("nvidia.com/gpu", "3", "", "3"),
        ("attachable-volumes-x", "3", "integer", "3"),
    ],
)
def test_each_resource_has_its_unit(resource, quantity, unit, value):
    asked = pod(node="n1", containers=[container({resource: quantity})])
    assert lines(asked) == [sample("kube_pod_resource_request", resource, unit, value, node="n1")]


def test_a_limit_without_a_request_is_both():
    both = pod(containers=[container(limits={"cpu": "1"})], priority=7)
    assert lines(both) == [
        sample("kube_pod_resource_limit", "cpu", "cores", 1, priority=7),
        sample("kube_pod_resource_request", "cpu", "cores", 1, priority=7),
    ]


def test_containers_add_up_the_greediest_moment_counts_and_overhead_goes_to_what_has_a_limit():
    greedy = pod(
        containers=[container({"cpu": "1"}, {"cpu": "2"}), container({"cpu": "1"}, {"cpu": "2"})],
        initContainers=[container({"cpu": "5"}, {"cpu": "3"})],
        overhead={"cpu": "100m", "memory": "1"},
    )
    assert lines(greedy) == [
        sample("kube_pod_resource_limit", "cpu", "cores", 4.1),
        sample("kube_pod_resource_request", "cpu", "cores", 5.1),
        sample("kube_pod_resource_request", "memory", "bytes", 1),
    ]


def test_what_is_nought_or_has_ended_is_left_out():
    assert (
        lines(pod(containers=[container({"cpu": "0"})]), pod(phase="Succeeded", containers=[container({"cpu": "1"})]))
        == []
    )
    assert exposition([]) == b""


def test_each_metric_has_one_head_and_its_samples_follow_it():
    text = exposition([pod(containers=[container({"cpu": "1"}, {"cpu": "1"})]) for _ in range(3)]).decode()
    kinds = [
        line.split()[0] + line.split()[2] if line[0] == "#" else line.partition("{")[0] for line in text.splitlines()
    ]
    assert kinds == [
        *("#kube_pod_resource_limit",) * 2, *("kube_pod_resource_limit",) * 3,
        *("#kube_pod_resource_request",) * 2, *("kube_pod_resource_request",) * 3,
    ]  # fmt: skip


def test_labels_are_escaped():
    odd = pod(schedulerName='a"\n\\', containers=[container({"cpu": "1"})])
    assert lines(odd) == [sample("kube_pod_resource_request", "cpu", "cores", 1, scheduler=r"a\"\n\\")]


@pytest.mark.parametrize("leads", [True, False])
def test_only_the_leader_tells(leads):
    class Lister:
        def list(self):
            return [pod(containers=[container({"cpu": "1"})])]

    answer = resources_page(lambda: leads, Lister())(Request(method="GET", target="/metrics/resources"))
    assert (answer.status, bool(answer.body)) == (200, leads)
