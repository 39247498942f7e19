"""What `describe` tells of an object, for people: its fields, its conditions, what it has given away, its events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from component.tables import one_line, table
from replica.api.kinds import DISRUPTION_BUDGET, NODE, POD, PRIORITY_CLASS
from replica.api.quantities import format_bytes, format_milli
from replica.api.resources import CPU, EPHEMERAL_STORAGE, HUGE_PAGES, MEMORY, PODS, add
from replica.api.times import age_of
from replica.ctl.columns import NONE, Row, pod_status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from replica.api.events import Event
    from replica.api.groups import DisruptionBudget
    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.api.priority import PriorityClass
    from replica.ctl.getting import Stored

_WIDTH: Final = 18
"""Characters before a value."""

_SHOWN: Final = frozenset({"apiVersion", "kind", "metadata", "status"})


def describe(found: Stored, *, events: Sequence[Stored], pods: Sequence[Stored], now: float) -> list[str]:
    """The lines of a description.

    Args:
        events: Those of the object's namespace, or all.
        pods: All pods, for a node.
        now: Seconds since 1970.
    """
    row = Row(found.object, found.manifest, now)
    lines = [_field("Name", found.object.name)]
    if found.kind.namespaced:
        lines.append(_field("Namespace", found.object.namespace))
    if found.kind is POD:
        lines += _pod(row)
    elif found.kind is NODE:
        lines += _node(row, [each for each in pods if cast("Pod", each.object).node == found.object.name])
    elif found.kind is DISRUPTION_BUDGET:
        lines += _disruption_budget(row)
    elif found.kind is PRIORITY_CLASS:
        lines += _priority_class(row)
    else:
        lines += _metadata(row)
        rest = {name: value for name, value in found.manifest.items() if name not in _SHOWN}
        lines += _tree(rest)
    return [one_line(line) for line in (*lines, *_events(found, events, now))]


def _field(name: str, value: object) -> str:
    return f"{f'{name}:'.ljust(_WIDTH)}{value}"


def _metadata(row: Row) -> Iterator[str]:
    yield from _map("Labels", row.at("metadata", "labels"))
    yield from _map("Annotations", row.at("metadata", "annotations"))
    yield _field("Created", f"{row.object.created or '<unknown>'} ({row.age} ago)")
    yield _field("UID", row.object.uid or NONE)


def _map(name: str, values: Any) -> Iterator[str]:
    items = [f"{key}={value}" for key, value in values.items()] if isinstance(values, dict) else []
    yield from _list(name, items)


def _list(name: str, items: Sequence[str]) -> Iterator[str]:
    """A field of several lines, one a value."""
    yield _field(name, items[0] if items else NONE)
    for item in items[1:]:
        yield " " * _WIDTH + item


def _disruption_budget(row: Row) -> Iterator[str]:
    budget: DisruptionBudget = row.object
    if budget.min_available is not None:
        yield _field("Min available", budget.min_available)
    if budget.max_unavailable is not None:
        yield _field("Max unavailable", budget.max_unavailable)
    yield _field("Selector", _selector(row.at("spec", "selector")))
    yield "Status:"
    for name, field in _COUNTS:
        yield f"    {f'{name}:'.ljust(22)}{row.at('status', field)}"


_COUNTS: Final = (
    ("Allowed disruptions", "disruptionsAllowed"),
    ("Current", "currentHealthy"),
    ("Desired", "desiredHealthy"),
    ("Total", "expectedPods"),
)


def _selector(selector: Any) -> str:
    if not isinstance(selector, dict):
        return NONE
    labels = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for each in selector.get("matchExpressions") or []:
        values = ",".join(each.get("values") or [])
        labels.append(f"{each.get('key')} {each.get('operator')}{f' ({values})' if values else ''}")
    return ",".join(labels) or "all pods of the namespace"


def _priority_class(row: Row) -> Iterator[str]:
    found: PriorityClass = row.object
    yield _field("Value", found.value)
    yield _field("GlobalDefault", str(found.default).lower())
    yield _field("PreemptionPolicy", found.preemption)
    yield _field("Description", row.at("description") or "")
    yield from _map("Annotations", row.at("metadata", "annotations"))


def _pod(row: Row) -> Iterator[str]:
    pod: Pod = row.object
    spec = pod.spec
    by_class = f"as class {spec.priority_class}" if spec.priority_class else "0"
    yield _field("Priority", by_class if spec.priority is None else spec.priority)
    yield _field("Scheduler", spec.scheduler)
    yield _field("Node", pod.node or NONE)
    if pod.nominated:
        yield _field("Nominated Node", pod.nominated)
    yield _field("Status", pod_status(row))
    if message := next((each.get("message") for each in row.items("status", "conditions") if each.get("message")), ""):
        yield _field("Message", message)
    yield from _metadata(row)
    yield _field("Written By", _author(pod.token))
    for owner in row.items("metadata", "ownerReferences"):
        name = f"{owner.get('kind')}/{owner.get('name')}"
        yield _field("Controlled By" if owner.get("controller") else "Owned By", name)
    yield from _list("Requests", [_amount(name, count) for name, count in spec.requests if name != PODS])
    if spec.gates:
        yield from _list("Scheduling Gates", spec.gates)
    yield from _list("Node-Selectors", [f"{key}={value}" for key, value in spec.node_selector])
    if row.at("spec", "affinity"):
        yield "Affinity:"
        yield from _tree(row.at("spec", "affinity"), 2)
    yield from _list("Tolerations", [_toleration(each) for each in row.items("spec", "tolerations")])
    for each in row.items("spec", "topologySpreadConstraints"):
        skew = f"max skew {each.get('maxSkew')}, {each.get('whenUnsatisfiable')}"
        yield _field("Spread", f"{each.get('topologyKey')}: {skew}")
    yield "Containers:"
    for part, suffix in (("initContainers", " (init)"), ("containers", "")):
        for each in row.items("spec", part):
            yield f"  {each.get('name')}{suffix}:"
            yield from _tree({"Image": each.get("image") or NONE, **(each.get("resources") or {})}, 4)
    yield from _list("Volumes", [_volume(each) for each in row.items("spec", "volumes")])
    yield from _conditions(row, ("Type", "Status", "Reason", "Message"))


def _author(token: int) -> str:
    return f"the leader with token {token}" if token else "a user's tool"


def _volume(volume: dict[str, Any]) -> str:
    return f"{volume.get('name')}: {', '.join(name for name in volume if name != 'name') or NONE}"


def _toleration(each: dict[str, Any]) -> str:
    key, value, effect = each.get("key") or "", each.get("value"), each.get("effect")
    text = f"{key}{f'={value}' if value else ''}{f':{effect}' if effect else ''}"
    if each.get("operator") == "Exists":
        text = f"{text} op=Exists".strip()
    seconds = each.get("tolerationSeconds")
    return text if seconds is None else f"{text} for {seconds}s"


def _node(row: Row, pods: Sequence[Stored]) -> Iterator[str]:
    node: Node = row.object
    yield from _metadata(row)
    yield from _list("Taints", [str(taint) for taint in node.taints])
    yield _field("Unschedulable", str(node.unschedulable).lower())
    yield from _conditions(row, ("Type", "Status", "Reason", "Message"))
    for title in ("addresses", "capacity", "allocatable"):
        if row.at("status", title):
            yield f"{title.capitalize()}:"
            yield from _tree(row.at("status", title), 2)
    if row.at("status", "nodeInfo"):
        yield "System Info:"
        yield from _tree(row.at("status", "nodeInfo"), 2)
    running = [cast("Pod", each.object) for each in pods if not cast("Pod", each.object).terminal]
    yield f"Non-terminated Pods:  ({len(running)} in total)"
    yield from _indented(
        ("Namespace", "Name", "CPU Requests", "Memory Requests", "Age"),
        [_on_node(pod, dict(node.allocatable), row.now) for pod in running],
    )
    yield "Allocated resources:"
    yield from _indented(("Resource", "Requests", "Allocatable"), _allocated(node, running))


def _on_node(pod: Pod, allocatable: dict[str, int], now: float) -> tuple[str, ...]:
    asked = dict(pod.spec.requests)
    shares = [_taken(name, asked.get(name, 0), allocatable.get(name, 0)) for name in (CPU, MEMORY)]
    return (pod.namespace, pod.name, *shares, age_of(pod.created, now))


def _allocated(node: Node, pods: Sequence[Pod]) -> list[tuple[str, ...]]:
    used: dict[str, int] = {}
    for pod in pods:
        add(used, pod.spec.requests)
    rows: list[tuple[str, ...]] = []
    for name, count in sorted(node.allocatable, key=lambda each: (each[0] not in {CPU, MEMORY}, each[0])):
        rows.append((name, _taken(name, used.pop(name, 0), count), _quantity(name, count)))
    rows += [(name, _taken(name, taken, 0), "0") for name, taken in sorted(used.items()) if taken]
    return rows


def _taken(resource: str, count: int, of: int) -> str:
    return f"{_quantity(resource, count)} {_share(count, of)}"


def _share(count: int, of: int) -> str:
    return f"({count * 100 // of}%)" if of else "(0%)" if not count else "(>100%)"


def _quantity(resource: str, count: int) -> str:
    if resource == CPU:
        return format_milli(count)
    if resource in {MEMORY, EPHEMERAL_STORAGE} or resource.startswith(HUGE_PAGES):
        return format_bytes(count)
    return str(count)


def _amount(resource: str, count: int) -> str:
    return f"{resource}: {_quantity(resource, count)}"


def _conditions(row: Row, fields: tuple[str, ...]) -> Iterator[str]:
    conditions = row.items("status", "conditions")
    if conditions:
        yield "Conditions:"
        names = [f"{field[0].lower()}{field[1:]}" for field in fields]
        yield from _indented(fields, [tuple(str(each.get(name) or "") for name in names) for each in conditions])


def _events(found: Stored, events: Sequence[Stored], now: float) -> list[str]:
    mine = [cast("Event", each.object) for each in events if _is_about(cast("Event", each.object), found)]
    if not mine:
        return [_field("Events", NONE)]
    rows = [
        (each.type, each.reason, _when(each, now), each.controller or NONE, each.note.strip())
        for each in sorted(mine, key=lambda each: each.last_seen)
    ]
    return ["Events:", *_indented(("Type", "Reason", "Age", "From", "Message"), rows)]


def _is_about(event: Event, found: Stored) -> bool:
    regarding = event.regarding
    if (regarding.kind, regarding.name) != (found.kind.kind, found.object.name):
        return False
    # An event of an object that had the same name before is not about this one.
    same_life = not (regarding.uid and found.object.uid) or regarding.uid in {found.object.uid, found.object.name}
    return same_life and (not found.kind.namespaced or regarding.namespace in {"", found.object.namespace})


def _when(event: Event, now: float) -> str:
    age = age_of(event.last_seen, now)
    return f"{age} (x{event.count} over {age_of(event.time, now)})" if event.count > 1 else age


def _indented(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    rule = ["-" * len(header) for header in headers]
    for line in table(headers, [rule, *rows]):
        yield f"  {line}"


def _tree(value: Any, indent: int = 0) -> Iterator[str]:
    """JSON data as indented lines."""
    blank = " " * indent
    for name, item in value.items() if isinstance(value, dict) else [("-", item) for item in value]:
        label = name if name == "-" else f"{name}:"
        if isinstance(item, dict | list) and item:
            yield f"{blank}{label}"
            yield from _tree(item, indent + 2)
        else:
            text = NONE if item in (None, "", {}, []) else str(item).lower() if isinstance(item, bool) else str(item)
            yield f"{blank}{label.ljust(max(0, _WIDTH - indent))} {text}" if name != "-" else f"{blank}- {text}"
