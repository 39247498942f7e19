"""What a table shows of each kind of object: kubectl's columns, as far as they mean something here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from replica.api.kinds import (
    DISRUPTION_BUDGET,
    EVENT,
    NAMESPACE,
    NODE,
    POD,
    POD_GROUP,
    PRIORITY_CLASS,
)
from replica.api.quantities import format_bytes, format_milli
from replica.api.resources import CPU, MEMORY
from replica.api.status import POD_SCHEDULED, SCHEDULING_GATED
from replica.api.times import age_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replica.api.events import Event
    from replica.api.groups import PodGroup
    from replica.api.kinds import Kind
    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.api.priority import PriorityClass

NONE: Final = "<none>"
_ROLE: Final = "node-role.kubernetes.io/"


@dataclass(frozen=True, slots=True)
class Row:
    """An object to be shown: as decoded, as its user sees it, and the present (seconds since 1970)."""

    object: Any
    manifest: Mapping[str, Any]
    now: float

    @property
    def age(self) -> str:
        return age_of(self.object.created, self.now)

    def at(self, *path: str) -> Any:
        """A field of the manifest, None where it is absent."""
        value: Any = self.manifest
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def items(self, *path: str) -> list[dict[str, Any]]:
        """The objects in a list of the manifest."""
        found = self.at(*path)
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


Column = tuple[str, "Callable[[Row], str]"]


def pod_status(row: Row) -> str:
    """Its phase in a word. A bound pod that nobody runs is `Scheduled`: there is no kubelet here to say more."""
    pod: Pod = row.object
    if pod.deleting:
        return "Terminating"
    if pod.phase not in {"", "Pending"}:
        return pod.phase
    if pod.node:
        return "Scheduled"
    reasons = [each.get("reason") for each in row.items("status", "conditions") if each.get("type") == POD_SCHEDULED]
    return SCHEDULING_GATED if SCHEDULING_GATED in reasons else "Pending"


def _ready(row: Row) -> str:
    ready = sum(each.get("ready") is True for each in row.items("status", "containerStatuses"))
    return f"{ready}/{len(row.items('spec', 'containers'))}"


def _restarts(row: Row) -> str:
    counts = [each.get("restartCount") for each in row.items("status", "containerStatuses")]
    return str(sum(count for count in counts if isinstance(count, int)))


def _readiness_gates(row: Row) -> str:
    gates = row.items("spec", "readinessGates")
    if not gates:
        return NONE
    conditions = row.items("status", "conditions")
    met = {each.get("type") for each in conditions if each.get("status") == "True"}
    return f"{sum(gate.get('conditionType') in met for gate in gates)}/{len(gates)}"


def _node_status(row: Row) -> str:
    node: Node = row.object
    return ("Ready" if node.ready else "NotReady") + (",SchedulingDisabled" if node.unschedulable else "")


def _roles(row: Row) -> str:
    roles = [label.removeprefix(_ROLE) for label in row.object.labels if label.startswith(_ROLE)]
    return ",".join(sorted(filter(None, roles))) or NONE


def _address(type_: str) -> Callable[[Row], str]:
    def find(row: Row) -> str:
        found = (each.get("address") for each in row.items("status", "addresses") if each.get("type") == type_)
        return _text(next(found, None))

    return find


def _field(*path: str) -> Callable[[Row], str]:
    return lambda row: _text(row.at(*path))


def _text(value: Any) -> str:
    return NONE if value is None or value == "" else str(value)


def _allocatable(resource: str) -> Callable[[Row], str]:
    def show(row: Row) -> str:
        amount = dict(row.object.allocatable).get(resource, 0)
        return format_milli(amount) if resource == CPU else format_bytes(amount)

    return show


def _regarding(row: Row) -> str:
    event: Event = row.object
    return f"{event.regarding.kind.lower()}/{event.regarding.name}"


def _source(row: Row) -> str:
    event: Event = row.object
    return ", ".join(filter(None, (event.controller, event.instance))) or NONE


def _budget(field: str) -> Callable[[Row], str]:
    def show(row: Row) -> str:
        value = getattr(row.object, field)
        return "N/A" if value is None else str(value)

    return show


def _allowed(row: Row) -> str:
    allowed = row.at("status", "disruptionsAllowed")
    return "N/A" if allowed is None else str(allowed)


def _priority(show: Callable[[PriorityClass], str]) -> Callable[[Row], str]:
    return lambda row: show(row.object)


def _group(show: Callable[[PodGroup], str]) -> Callable[[Row], str]:
    return lambda row: show(row.object)


def _name(row: Row) -> str:
    name: str = row.object.name
    return name


def _age(row: Row) -> str:
    return row.age


_NAME: Final[Column] = ("NAME", _name)
_AGE: Final[Column] = ("AGE", _age)

_COLUMNS: Final[Mapping[Kind, tuple[Column, ...]]] = {
    POD: (_NAME, ("READY", _ready), ("STATUS", pod_status), ("RESTARTS", _restarts), _AGE),
    NODE: (
        _NAME,
        ("STATUS", _node_status),
        ("ROLES", _roles),
        _AGE,
        ("VERSION", _field("status", "nodeInfo", "kubeletVersion")),
    ),
    NAMESPACE: (_NAME, ("STATUS", lambda row: row.at("status", "phase") or "Active"), _AGE),
    PRIORITY_CLASS: (
        _NAME,
        ("VALUE", _priority(lambda each: str(each.value))),
        ("GLOBAL-DEFAULT", _priority(lambda each: str(each.default).lower())),
        _AGE,
        ("PREEMPTIONPOLICY", _priority(lambda each: each.preemption)),
    ),
    POD_GROUP: (_NAME, ("MIN MEMBER", _group(lambda each: str(each.min_member))), _AGE),
    DISRUPTION_BUDGET: (
        _NAME,
        ("MIN AVAILABLE", _budget("min_available")),
        ("MAX UNAVAILABLE", _budget("max_unavailable")),
        ("ALLOWED DISRUPTIONS", _allowed),
        _AGE,
    ),
    EVENT: (
        ("LAST SEEN", lambda row: age_of(row.object.last_seen, row.now)),
        ("TYPE", lambda row: row.object.type),
        ("REASON", lambda row: row.object.reason),
        ("OBJECT", _regarding),
        ("MESSAGE", lambda row: row.object.note.strip()),
    ),
}

_WIDE: Final[Mapping[Kind, tuple[Column, ...]]] = {
    POD: (
        *_COLUMNS[POD],
        ("IP", _field("status", "podIP")),
        ("NODE", lambda row: row.object.node or NONE),
        ("NOMINATED NODE", lambda row: row.object.nominated or NONE),
        ("READINESS GATES", _readiness_gates),
    ),
    NODE: (
        *_COLUMNS[NODE],
        ("INTERNAL-IP", _address("InternalIP")),
        ("EXTERNAL-IP", _address("ExternalIP")),
        ("CPU", _allocatable(CPU)),
        ("MEMORY", _allocatable(MEMORY)),
    ),
    EVENT: (
        *_COLUMNS[EVENT][:4],
        ("SOURCE", _source),
        _COLUMNS[EVENT][4],
        ("FIRST SEEN", lambda row: age_of(row.object.time, row.now)),
        ("COUNT", lambda row: str(row.object.count)),
        _NAME,
    ),
}


def columns(kind: Kind, *, wide: bool, namespaces: bool) -> tuple[Column, ...]:
    """The columns for a kind.

    Args:
        namespaces: Begin with the namespace, where the kind has one.
    """
    found = _WIDE.get(kind, _COLUMNS[kind]) if wide else _COLUMNS[kind]
    if namespaces and kind.namespaced:
        return (("NAMESPACE", lambda row: row.object.namespace), *found)
    return found
