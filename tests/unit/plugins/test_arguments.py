from __future__ import annotations

import pytest

from component import strict
from lockd.errors import ConfigError
from replica.api.affinity import SpreadConstraint
from replica.framework.arguments import WithArguments
from replica.plugins.arguments import (
    CPU_AND_MEMORY,
    DefaultPreemptionArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
)

ALL = (
    DefaultPreemptionArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
)

FIT, BALANCED, SPREAD = NodeResourcesFitArgs, NodeResourcesBalancedAllocationArgs, PodTopologySpreadArgs
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def curve(*points):
    shape = [{"utilization": utilization, "score": score} for utilization, score in points]
    return {"scoringStrategy": {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": shape}}}


def resources(*pairs):
    return {"resources": [{"name": name, "weight": weight} for name, weight in pairs]}


def spread(**fields):
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", **fields}
    return {"defaultingType": "List", "defaultConstraints": [constraint]}


def affinity(requirement):
    return {"addedAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}}}


ZONES = SpreadConstraint(1, "zone", "ScheduleAnyway")


def test_the_defaults_are_kube_schedulers():
    assert strict.encode(DefaultPreemptionArgs()) == {
        "minCandidateNodesPercentage": 10,
        "minCandidateNodesAbsolute": 100,
    }
    assert strict.encode(InterPodAffinityArgs()) == {
        "hardPodAffinityWeight": 1,
        "ignorePreferredTermsOfExistingPods": False,
    }
    assert strict.encode(NodeAffinityArgs()) == {}
    both = [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]
    assert strict.encode(BALANCED()) == {"resources": both}
    assert strict.encode(FIT()) == {
        "ignoredResources": [],
        "ignoredResourceGroups": [],
        "scoringStrategy": {"type": "LeastAllocated", "resources": both},
    }
    assert strict.encode(SPREAD()) == {"defaultConstraints": [], "defaultingType": "System"}


@pytest.mark.parametrize(
    ("kind", "document", "want"),
    [
        (FIT, {"ignoredResources": ["example.com/gpu"]}, FIT(ignored_resources=("example.com/gpu",))),
        (FIT, {"scoringStrategy": {"type": "MostAllocated"}}, FIT(scoring_strategy=ScoringStrategy("MostAllocated"))),
        (BALANCED, resources(("cpu", 1), ("example.com/gpu", 1)), None),
        (FIT, {"scoringStrategy": resources(("cpu", 100), ("memory", 0))}, None),
        (FIT, curve((0, 0), (100, 10)), None),
        (FIT, curve((50, 10)), None),
        (SPREAD, spread(), SPREAD(defaulting_type="List", default_constraints=(ZONES,))),
        (SPREAD, {"defaultingType": "List"}, SPREAD(defaulting_type="List")),
        (NodeAffinityArgs, affinity({"key": "zone", "operator": "In", "values": ["a"]}), None),
        (NodeAffinityArgs, {"addedAffinity": {}}, None),
        (InterPodAffinityArgs, {"hardPodAffinityWeight": 100}, None),
        (InterPodAffinityArgs, {"hardPodAffinityWeight": 0}, None),
        (DefaultPreemptionArgs, {"minCandidateNodesPercentage": 0}, None),
        (DefaultPreemptionArgs, {"minCandidateNodesPercentage": 100, "minCandidateNodesAbsolute": 0}, None),
    ],
)  # fmt: skip
def test_what_is_possible(kind, document, want):
    found = strict.decode(document, kind)
    assert want in (None, found)
    assert strict.decode(strict.encode(found), kind) == found


@pytest.mark.parametrize(
    ("kind", "document", "want"),
    [
        (FIT, {"ignoredResources": ["not a name"]}, "ignoredResources[0]: 'not a name' must be letters"),
        (FIT, {"ignoredResourceGroups": ["a/b"]}, "ignoredResourceGroups[0]: 'a/b' must not contain '/'"),
        (FIT, {"ignoredResourceGroups": ["a b"]}, "ignoredResourceGroups[0]: 'a b' must be letters"),
        (FIT, {"scoringStrategy": {"type": "Random"}}, 'scoringStrategy.type: "Random" must be one of LeastAllocated'),
        (FIT, {"scoringStrategy": resources(("cpu", 101))}, "scoringStrategy.resources[0].weight: 101 must be from 1"),
        (FIT, {"scoringStrategy": resources(("cpu", -1))}, "scoringStrategy.resources[0].weight: -1 must be from 1"),
        (FIT, {"scoringStrategy": resources(("", 1))}, "scoringStrategy.resources[0].name: '' must not be empty"),
        (FIT, {"scoringStrategy": resources(("cpu", 1), ("cpu", 1))}, "scoringStrategy.resources[1].name: 'cpu'"),
        (FIT, {"scoringStrategy": {"resources": [{}]}}, "scoringStrategy.resources[0].name: is required"),
        (
            FIT,
            {"scoringStrategy": {"type": "RequestedToCapacityRatio"}},
            "scoringStrategy.requestedToCapacityRatio: is required by the type RequestedToCapacityRatio",
        ),
        (FIT, curve(), "scoringStrategy.requestedToCapacityRatio.shape: must hold at least one point"),
        (FIT, curve((0, 11)), "scoringStrategy.requestedToCapacityRatio.shape[0].score: 11 must be from 0 to 10"),
        (FIT, curve((101, 1)), "scoringStrategy.requestedToCapacityRatio.shape[0].utilization: 101 must be from 0 to"),
        (FIT, curve((5, 1), (5, 2)), "scoringStrategy.requestedToCapacityRatio.shape[1].utilization: 5 must be more"),
        (BALANCED, resources(("cpu", 2)), "resources[0].weight: 2 must be 1"),
        (BALANCED, resources(("cpu", 1), ("cpu", 1)), "resources[1].name: 'cpu' is given twice"),
        (InterPodAffinityArgs, {"hardPodAffinityWeight": 101}, "hardPodAffinityWeight: 101 must be from 0 to 100"),
        (InterPodAffinityArgs, {"hardPodAffinityWeight": -1}, "hardPodAffinityWeight: -1 must be from 0 to 100"),
        (SPREAD, {**spread(), "defaultingType": "System"}, "defaultConstraints: must be empty where defaultingType is"),
        (SPREAD, spread(maxSkew=0), "defaultConstraints[0].maxSkew: 0 must be from 1"),
        (SPREAD, spread(topologyKey=""), "defaultConstraints[0].topologyKey"),
        (SPREAD, spread(whenUnsatisfiable="Never"), "defaultConstraints[0].whenUnsatisfiable"),
        (SPREAD, spread(labelSelector={}), "defaultConstraints[0].labelSelector: must not be given"),
        (SPREAD, spread(matchLabelKeys=["v"]), "defaultConstraints[0].matchLabelKeys: must not be given"),
        (SPREAD, spread(minDomains=2), "defaultConstraints[0].minDomains: 2 is for whenUnsatisfiable DoNotSchedule"),
        (SPREAD, spread(minDomains=0), "defaultConstraints[0].minDomains: 0 must be from 1"),
        (
            SPREAD,
            {"defaultingType": "List", "defaultConstraints": 2 * spread()["defaultConstraints"]},
            "defaultConstraints[1]: is another one for zone and ScheduleAnyway",
        ),
        (NodeAffinityArgs, {"addedAffinity": {"x": 1}}, "addedAffinity.x: unknown field"),
        (
            NodeAffinityArgs,
            affinity({"key": "zone", "operator": "In"}),
            f'addedAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]: {{"key":"zone","operator":"In"',
        ),
        (
            NodeAffinityArgs,
            {"addedAffinity": {PREFERRED: [{"weight": 0, "preference": {}}]}},
            f"addedAffinity.{PREFERRED}[0].weight: 0 must be from 1 to 100",
        ),
        (DefaultPreemptionArgs, {"minCandidateNodesPercentage": 101}, "minCandidateNodesPercentage: 101 must be"),
        (DefaultPreemptionArgs, {"minCandidateNodesAbsolute": -1}, "minCandidateNodesAbsolute: -1 must not be"),
        (
            DefaultPreemptionArgs,
            {"minCandidateNodesAbsolute": 0, "minCandidateNodesPercentage": 0},
            "minCandidateNodesPercentage and minCandidateNodesAbsolute must not both be 0",
        ),
    ],
)  # fmt: skip
def test_what_is_not(kind, document, want):
    with pytest.raises(strict.Malformed) as caught:
        strict.decode(document, kind)
    assert len(caught.value.problems) == 1
    assert caught.value.problems[0].startswith(want)


@pytest.mark.parametrize("kind", ALL)
def test_the_kind_may_be_given_and_must_be_right(kind):
    factory = WithArguments(kind, lambda args, _handle: args)
    named = {"kind": kind.__name__, "apiVersion": "kubescheduler.config.k8s.io/v1"}
    assert factory(named, None) == factory({}, None) == kind()
    with pytest.raises(ConfigError) as caught:
        factory({"kind": "OtherArgs", "apiVersion": "v1beta3", "nothing": 1}, None)
    assert caught.value.problems == (
        f'kind: "OtherArgs" must be {kind.__name__}',
        'apiVersion: "v1beta3" must be kubescheduler.config.k8s.io/v1',
        "nothing: unknown field",
    )


def test_a_weight_of_zero_stands_for_one():
    assert [each.weighs for each in (*CPU_AND_MEMORY, ResourceSpec("x", 0), ResourceSpec("x", 7))] == [1, 1, 1, 7]
