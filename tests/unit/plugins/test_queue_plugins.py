"""PrioritySort, SchedulingGates, SupportedFeatures and DefaultBinder: what has no column."""

from __future__ import annotations

import random

import pytest

from replica.framework.cycle_state import CycleState
from replica.framework.status import Code
from replica.plugins.default_binder import DefaultBinder
from replica.plugins.priority_sort import PrioritySort
from replica.plugins.scheduling_gates import SchedulingGates, after_pod
from replica.plugins.supported_features import SupportedFeatures
from replica.queue.hints import Hint
from replica.queue.pod import QueuedPod
from tests.harness.framework import table_of
from tests.harness.objects import node, pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize("priorities", [(5, 0, -5), (2_000_000_000, 1, 0)])
def test_the_higher_priority_goes_first_then_who_waits_longer(priorities):
    want = [QueuedPod(pod(), at, at, priority) for priority in priorities for at in (1.0, 2.0, 3.0)]
    mixed = random.Random(1).sample(want, len(want))  # noqa: S311  # drawn tests, no secret
    assert sorted(mixed, key=PrioritySort().sort_key) == want


@pytest.mark.parametrize(
    ("gates", "words"),
    [
        (None, ""),
        ([], ""),
        (["example.com/a"], "waiting for scheduling gates: [example.com/a]"),
        (["b", "a"], "waiting for scheduling gates: [b a]"),
    ],
)
def test_gates_keep_a_pod_out(gates, words):
    ask = pod(schedulingGates=None if gates is None else [{"name": name} for name in gates])
    status = SchedulingGates().pre_enqueue(ask)
    assert (status.message, status.code) == (words, Code.UNRESOLVABLE if words else Code.SUCCESS)


def test_only_the_pods_own_gates_count():
    ask = pod(uid="me", schedulingGates=[{"name": "a"}])
    assert after_pod(ask, ask, pod(uid="me")) is Hint.QUEUE
    assert after_pod(ask, ask, pod(uid="other")) is Hint.SKIP


def spread(when):
    return {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": when}]}


def near(field, how):
    term = {"topologyKey": "zone", "labelSelector": {}}
    given = [term] if how == REQUIRED else [{"weight": 1, "podAffinityTerm": term}]
    return {"affinity": {field: {how: given}}}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, ""),
        ({"volumes": [{"name": "tmp", "emptyDir": {}}]}, ""),
        (
            {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "x"}}]},
            "volume data is a persistentVolumeClaim: volumes that a node must provide are not supported",
        ),
        ({"resourceClaims": [{"name": "gpu"}]}, "resource claims: dynamic resource allocation is not supported"),
        (spread("DoNotSchedule"), ""),
        (spread("ScheduleAnyway"), ""),
        (near("podAffinity", REQUIRED), ""),
        (near("podAntiAffinity", REQUIRED), ""),
        (near("podAffinity", PREFERRED), ""),
        (near("podAntiAffinity", PREFERRED), ""),
    ],
)
def test_what_is_not_built_is_refused_in_words(spec, words):
    plugin, ask = SupportedFeatures(), pod(**spec)
    status = plugin.pre_filter(CycleState(), ask, table_of([node("a")]).snapshot()).status
    assert (status.message, status.code) == (words, Code.UNRESOLVABLE if words else Code.SUCCESS)
    assert (plugin.signature(ask) is None) is bool(words)


def test_the_default_binder_leaves_the_write_to_the_scheduler():
    assert DefaultBinder().bind(CycleState(), pod(), "a").ok
