"""What an API server and its controllers would add to objects before anybody looks at them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from replica.api.kinds import DISRUPTION_BUDGET, POD, PRIORITY_CLASS
from replica.api.priority import SYSTEM_CLASSES
from replica.ctl.getting import Stored, find, not_found
from replica.ctl.targets import Target
from replica.preemption.budgets import standings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replica.api.groups import DisruptionBudget
    from replica.api.pods import Pod
    from replica.api.priority import PriorityClass
    from replica.ctl.getting import Found
    from replica.ctl.store import ObjectStore


def complete(
    found: Found, target: Target, store: ObjectStore, matches: Callable[[Mapping[str, str]], bool] | None = None
) -> Found:
    """The same with what is worked out here: the status of disruption budgets, and the system's priority classes.

    Args:
        matches: A predicate on labels, where it was asked for.

    Raises:
        StoreError: etcd didn't answer, or refused.
    """
    if found.kind is DISRUPTION_BUDGET and found.objects:
        pods = [cast("Pod", each.object) for each in find(store, Target(POD), "").objects]
        return replace(found, objects=tuple(_counted(each, pods) for each in found.objects))
    if found.kind is PRIORITY_CLASS:
        return _with_system_classes(found, target, matches)
    return found


def _counted(stored: Stored, pods: list[Pod]) -> Stored:
    (standing,) = standings([cast("DisruptionBudget", stored.object)], pods)
    worked_out = {
        "currentHealthy": standing.healthy,
        "desiredHealthy": standing.desired,
        "disruptionsAllowed": standing.allowed,
        "expectedPods": standing.total,
    }
    return replace(stored, manifest={**stored.manifest, "status": {**(stored.manifest["status"] or {}), **worked_out}})


def _with_system_classes(found: Found, target: Target, matches: Callable[[Mapping[str, str]], bool] | None) -> Found:
    if matches is not None and not matches({}):
        return found
    there = {each.object.name for each in found.objects}
    wanted = [
        each for each in SYSTEM_CLASSES if each.name not in there and (not target.names or each.name in target.names)
    ]
    known = {not_found(PRIORITY_CLASS, each.name) for each in wanted}
    return replace(
        found,
        objects=(*found.objects, *(Stored(PRIORITY_CLASS, each, _manifest(each)) for each in wanted)),
        problems=tuple(problem for problem in found.problems if problem not in known),
    )


def _manifest(found: PriorityClass) -> dict[str, Any]:
    return {
        "apiVersion": PRIORITY_CLASS.versions[0],
        "kind": PRIORITY_CLASS.kind,
        "metadata": {"name": found.name},
        "value": found.value,
        "preemptionPolicy": found.preemption,
        "description": "Always there: for what the cluster, or a node, can't do without.",
        "status": {},
    }
