"""What must be right in a pod's specification before it is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from replica.api.names import label_key_problem, name_problem, namespace_problem
from replica.api.podspec import PREEMPT_LOWER, PREEMPT_NEVER
from replica.api.selectors import LABEL_OPERATORS, NAME_FIELD, NODE_OPERATORS, Requirement, requirement_problem
from replica.api.taints import EFFECTS, OPERATORS

if TYPE_CHECKING:
    from replica.api.places import Place

PHASES: Final = ("Pending", "Running", "Succeeded", "Failed", "Unknown")
_PORT_LIMIT: Final = 65535
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def check_pod(pod: Place) -> None:
    """Check a pod's `spec` and `status`; problems go to the place's list."""
    spec = pod["spec"].object(required=True)
    if spec.present:
        _containers(spec)
        _placement(spec)
        spec["overhead"].amounts()
        _resources(spec["resources"])
        spec["priority"].integer()
        spec["priorityClassName"].text()
        spec["preemptionPolicy"].text(among=(PREEMPT_LOWER, PREEMPT_NEVER))
        spec["schedulerName"].text()
        spec["nodeName"].text(check=lambda text: name_problem(text) if text else None)
        spec["hostNetwork"].flag()
        spec["terminationGracePeriodSeconds"].integer(0, 2**53)
        for gate in spec["schedulingGates"].items():
            gate.object(required=True)["name"].text(required=True, check=label_key_problem)
        for volume in spec["volumes"].items():
            volume.object(required=True)["name"].text(required=True)
        for claim in spec["resourceClaims"].items():
            claim.object(required=True)
    pod["status"].object()["phase"].text(among=PHASES)
    pod["status"]["startTime"].text()


def _containers(spec: Place) -> None:
    listed = spec["containers"]
    if not listed.present or listed.value == []:
        listed.wrong("must hold at least one container")
    names: set[str] = set()
    for field in ("containers", "initContainers"):
        for container in spec[field].items():
            container.object(required=True)
            name = container["name"].text(required=True, check=namespace_problem)
            if name and name in names:
                container["name"].wrong("is another container's name too")
            names.add(name)
            container["image"].text()
            container["restartPolicy"].text()
            _resources(container["resources"])
            for port in container["ports"].items():
                port.object(required=True)["containerPort"].integer(1, _PORT_LIMIT, required=True)
                port["hostPort"].integer(0, _PORT_LIMIT)
                port["hostIP"].text()
                port["protocol"].text(among=("TCP", "UDP", "SCTP"))


def _resources(resources: Place) -> None:
    requests = resources.object()["requests"].amounts()
    limits = resources["limits"].amounts()
    for resource, count in requests.items():
        if count > limits.get(resource, count):
            resources["requests"][resource].wrong("is more than its limit")


def _placement(spec: Place) -> None:
    spec["nodeSelector"].labels()
    affinity = spec["affinity"].object()
    check_node_affinity(affinity["nodeAffinity"])
    for field in ("podAffinity", "podAntiAffinity"):
        pods = affinity[field].object()
        for term in pods[_REQUIRED].items():
            _pod_term(term)
        for preferred in pods[_PREFERRED].items():
            preferred.object(required=True)["weight"].integer(1, 100, required=True)
            _pod_term(preferred["podAffinityTerm"])
    for toleration in spec["tolerations"].items():
        _toleration(toleration)
    _spread(spec["topologySpreadConstraints"])


def check_node_affinity(affinity: Place) -> None:
    """Check a node affinity, if it is there."""
    required = affinity.object()[_REQUIRED].object()
    if required.present:
        for term in required["nodeSelectorTerms"].items(required=True):
            _node_term(term)
    for preferred in affinity[_PREFERRED].items():
        preferred.object(required=True)["weight"].integer(1, 100, required=True)
        _node_term(preferred["preference"])


def check_spread_constraint(constraint: Place) -> None:
    """Check one topology spread constraint."""
    constraint.object(required=True)["maxSkew"].integer(1, required=True)
    constraint["topologyKey"].text(required=True, check=label_key_problem)
    constraint["whenUnsatisfiable"].text(required=True, among=("DoNotSchedule", "ScheduleAnyway"))
    if constraint["minDomains"].integer(1) and constraint["whenUnsatisfiable"].value == "ScheduleAnyway":
        constraint["minDomains"].wrong("is for whenUnsatisfiable DoNotSchedule alone")
    constraint["nodeAffinityPolicy"].text(among=("Honor", "Ignore"))
    constraint["nodeTaintsPolicy"].text(among=("Honor", "Ignore"))
    constraint["matchLabelKeys"].texts()
    check_selector(constraint["labelSelector"])


def _spread(constraints: Place) -> None:
    seen: set[tuple[str, str]] = set()
    for constraint in constraints.items():
        check_spread_constraint(constraint)
        _check_match_keys(constraint, "matchLabelKeys")
        kind = constraint["topologyKey"].value, constraint["whenUnsatisfiable"].value
        if not all(isinstance(each, str) for each in kind):
            continue
        if kind in seen:
            constraint["topologyKey"].wrong(f"has another constraint with {kind[1]}: one for each is possible")
        seen.add(kind)


def _check_match_keys(place: Place, name: str) -> None:
    """Keys that go beside a label selector.

    An API server has written them into the expressions of the selectors that it hands out, so they may be there.
    """
    keys, selector = place[name], place["labelSelector"]
    if not isinstance(keys.value, list) or not keys.value:
        return
    if not selector.present:
        keys.wrong("needs a labelSelector")
    elif isinstance(labels := selector["matchLabels"].value, dict):
        for key in keys.items():
            if isinstance(key.value, str) and key.value in labels:
                key.wrong("is in labelSelector.matchLabels already")


def _toleration(toleration: Place) -> None:
    before = len(toleration.problems)
    key = toleration.object(required=True)["key"].text()
    operator = toleration["operator"].text(among=OPERATORS)
    value = toleration["value"].text()
    toleration["effect"].text(among=EFFECTS)
    if len(toleration.problems) > before:
        return
    if operator == "Exists" and value:
        toleration["value"].wrong("must be empty where the operator is Exists")
    elif not key and operator != "Exists":
        toleration["key"].wrong("is required unless the operator is Exists")


def _node_term(term: Place) -> None:
    term.object(required=True)
    _requirements(term["matchExpressions"], NODE_OPERATORS)
    _requirements(term["matchFields"], ("In", "NotIn"), only=NAME_FIELD)


def _pod_term(term: Place) -> None:
    term.object(required=True)["topologyKey"].text(required=True, check=label_key_problem)
    check_selector(term["labelSelector"])
    check_selector(term["namespaceSelector"])
    term["namespaces"].texts()
    for name in ("matchLabelKeys", "mismatchLabelKeys"):
        term[name].texts()
        _check_match_keys(term, name)


def check_selector(selector: Place) -> None:
    """Check a label selector, if it is there."""
    selector.object()["matchLabels"].labels()
    _requirements(selector["matchExpressions"], LABEL_OPERATORS)


def _requirements(requirements: Place, operators: tuple[str, ...], only: str = "") -> None:
    for each in requirements.items():
        key = each.object(required=True)["key"].text(required=True, check=None if only else label_key_problem)
        if only and key and key != only:
            each["key"].wrong(f"must be {only}")
        operator = each["operator"].text(required=True)
        before = len(each.problems)
        each["values"].texts(empty=True)
        if key and operator and len(each.problems) == before:
            problem = requirement_problem(Requirement(key, operator, tuple(each["values"].value or ())), operators)
            if problem is not None:
                each.wrong(f"means nothing: {problem}")
