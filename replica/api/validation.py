"""What must be right in a manifest before it is stored: every problem, each with its path and value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from replica.api.kinds import DISRUPTION_BUDGET, EVENT, NAMESPACE, NODE, POD, POD_GROUP, PRIORITY_CLASS
from replica.api.names import label_key_problem, label_value_problem, name_problem, namespace_problem
from replica.api.places import INT32, Place
from replica.api.podchecks import check_pod, check_selector
from replica.api.podspec import PREEMPT_LOWER, PREEMPT_NEVER
from replica.api.priority import HIGHEST_USER_PRIORITY, SYSTEM_CLASSES
from replica.api.taints import EFFECTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replica.api.kinds import Kind

_PERCENT: Final = re.compile(r"[0-9]{1,4}%")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)")


def problems_of(kind: Kind, document: Mapping[str, Any]) -> list[str]:
    """Every problem of a manifest, each one line that begins with its path; none when it can be stored."""
    place = Place(document)
    _metadata(place["metadata"].object(required=True), kind)
    place["status"].object()
    _CHECKS[kind](place)
    return list(dict.fromkeys(place.problems))


def _metadata(metadata: Place, kind: Kind) -> None:
    if not metadata.present:
        return
    if metadata["generateName"].present and not metadata["name"].present:
        metadata["generateName"].wrong("can't be applied: give metadata.name")
    else:
        metadata["name"].text(required=True, check=namespace_problem if kind is NAMESPACE else name_problem)
    if kind.namespaced:
        metadata["namespace"].text(check=namespace_problem)
    metadata["labels"].labels()
    for _, annotation in metadata["annotations"].entries():
        annotation.text()
    metadata["uid"].text()
    for field in ("creationTimestamp", "deletionTimestamp"):
        metadata[field].text(check=_time_problem)


def _time_problem(text: str) -> str | None:
    return None if not text or _TIME.fullmatch(text) else "is no time such as 2026-01-31T12:00:00Z"


def _node(node: Place) -> None:
    spec = node["spec"].object()
    spec["unschedulable"].flag()
    for taint in spec["taints"].items():
        taint.object(required=True)["key"].text(required=True, check=label_key_problem)
        taint["value"].text(check=label_value_problem)
        taint["effect"].text(required=True, among=EFFECTS)
    status = node["status"]
    status["allocatable"].amounts()
    status["capacity"].amounts()
    for image in status["images"].items():
        image.object(required=True)["names"].texts()
        image["sizeBytes"].integer(0, 2**63 - 1)
    for condition in status["conditions"].items():
        condition.object(required=True)["type"].text(required=True)
        condition["status"].text(required=True)


def _priority_class(place: Place) -> None:
    name = place["metadata"]["name"].value
    reserved = isinstance(name, str) and name.startswith("system-")
    value = place["value"].integer(required=True, high=INT32)
    if reserved and name not in {each.name for each in SYSTEM_CLASSES}:
        place["metadata"]["name"].wrong("begins with system-, which is reserved")
    elif value is not None and value > HIGHEST_USER_PRIORITY and not reserved:
        place["value"].wrong(f"is above {HIGHEST_USER_PRIORITY}, which is reserved for the system's classes")
    place["globalDefault"].flag()
    place["preemptionPolicy"].text(among=(PREEMPT_LOWER, PREEMPT_NEVER))


def _pod_group(group: Place) -> None:
    spec = group["spec"].object(required=True)
    if spec.present:
        spec["minMember"].integer(1, required=True)
        spec["scheduleTimeoutSeconds"].integer(1)
        spec["minResources"].amounts()


def _disruption_budget(budget: Place) -> None:
    spec = budget["spec"].object(required=True)
    check_selector(spec["selector"])
    if spec["minAvailable"].present and spec["maxUnavailable"].present:
        spec["maxUnavailable"].wrong("can't be given together with minAvailable")
    for field in ("minAvailable", "maxUnavailable"):
        if isinstance(spec[field].value, str):
            spec[field].text(check=lambda text: None if _PERCENT.fullmatch(text) else "is no number and no percentage")
        else:
            spec[field].integer(0)
    for field in ("disruptionsAllowed", "expectedPods"):
        budget["status"][field].integer()


def _event(event: Place) -> None:
    if not event["regarding"].present and not event["involvedObject"].present:
        event["regarding"].wrong("is required")
    for field in ("regarding", "involvedObject", "related"):
        for name, part in event[field].entries():
            if name in {"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion"}:
                part.text()
    event["reason"].text(required=True)
    event["type"].text(among=("Normal", "Warning"))
    for field in ("note", "message", "action", "reportingController", "reportingInstance"):
        event[field].text()


def _nothing_more(_place: Place) -> None:
    pass


_CHECKS: Final[Mapping[Kind, Callable[[Place], None]]] = {
    POD: check_pod,
    NODE: _node,
    NAMESPACE: _nothing_more,
    PRIORITY_CLASS: _priority_class,
    POD_GROUP: _pod_group,
    DISRUPTION_BUDGET: _disruption_budget,
    EVENT: _event,
}
