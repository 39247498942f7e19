"""What a scheduling cycle with the default plugins costs, in processor time: without etcd, whatever else runs."""

from __future__ import annotations

import random
import statistics
import sys
import time

import msgspec
import pytest

from replica.framework.cycle_state import CycleState
from tests.harness.framework import handle, runtime_of, table_of
from tests.harness.objects import node, pod

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROUNDS, CALLS = 7, 100
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def terms(key, *values):
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


KINDS = {
    "plain": {"requests": {"cpu": "100m", "memory": "128Mi"}},
    "selector": {"requests": {"cpu": "100m", "memory": "128Mi"}, "nodeSelector": {"zone": "z1", "disk": "ssd"}},
    "rich": {
        "requests": {"cpu": "100m", "memory": "128Mi"},
        "tolerations": [{"key": "dedicated", "operator": "Exists"}],
        "affinity": {
            "nodeAffinity": {
                REQUIRED: {"nodeSelectorTerms": [terms("zone", "z1", "z2"), terms("disk", "ssd")]},
                PREFERRED: [{"weight": 10, "preference": terms("zone", "z1")}],
            }
        },
    },
    "host port": {
        "containers": [{"name": "c", "image": "app:1", "ports": [{"containerPort": 1, "hostPort": 80}]}],
    },
    "nowhere": {"requests": {"cpu": "1000"}},
}


def tell(line):
    sys.stdout.write(f"\n  {line}\n")


def cluster(size):
    draw = random.Random(1)  # noqa: S311  # the same each time
    nodes = [
        node(
            f"n{number}",
            allocatable={"cpu": "64", "memory": "256Gi", "pods": 250, "ephemeral-storage": "1Ti"},
            labels={
                "zone": f"z{number % 3}",
                "disk": draw.choice(("ssd", "hdd")),
                "kubernetes.io/hostname": f"n{number}",
            },
            taints=({"key": "dedicated", "value": "x", "effect": "NoSchedule"},) if number % 10 == 0 else (),
            images={"app:1": 200 << 20} if number % 4 == 0 else {},
        )
        for number in range(size)
    ]
    placed = [
        (f"n{draw.randrange(size)}", pod(requests={"cpu": f"{draw.randrange(2000)}m", "memory": "1Gi"}))
        for _ in range(2 * size)
    ]
    return table_of(nodes, placed)


def cost(call):
    """Microseconds of processor time a call, and the medians' spread over rounds."""
    call()
    spent = []
    for _ in range(ROUNDS):
        began = time.thread_time()
        for _ in range(CALLS):
            call()
        spent.append((time.thread_time() - began) / CALLS * 1e6)
    return statistics.median(spent), min(spent)


@pytest.mark.parametrize("size", [1000, 5000])
def test_a_cycle_of_a_pod_that_is_like_no_other(size):
    table = cluster(size)
    evaluator, view = runtime_of(with_handle=handle())._evaluator, table.snapshot()
    for kind, spec in KINDS.items():
        ask = pod(**spec)
        median, least = cost(lambda each=ask: evaluator.place(CycleState(), each, view))
        tell(f"{size} nodes, {kind}: {median:.0f} us a pod, {least:.0f} at least")


@pytest.mark.parametrize("size", [1000, 5000])
def test_a_cycle_of_pods_that_are_alike_each_of_them_placed(size):
    for kind, spec in KINDS.items():
        table = cluster(size)
        runtime, ask, numbers = runtime_of(with_handle=handle()), pod(**spec), iter(range(10**9))

        def once(runtime=runtime, table=table, ask=ask, numbers=numbers):
            found = runtime.place(CycleState(), ask, table.snapshot())
            if name := getattr(found, "node_name", ""):
                table.add_pod(name, msgspec.structs.replace(ask, uid=str(next(numbers))))

        median, least = cost(once)
        tell(f"{size} nodes, {kind}: {median:.1f} us a pod, {least:.1f} at least")
