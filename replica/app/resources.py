"""`/metrics/resources`: what each pod asks for and may take, as kube-scheduler tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from component.endpoints import METRICS_TYPE
from component.handlers import Response
from replica.api.resources import CPU, EPHEMERAL_STORAGE, HUGE_PAGES, MEMORY, PODS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from component.handlers import Handler, Request
    from replica.api.pods import Pod
    from replica.api.podspec import PodSpec
    from replica.api.resources import Amounts
    from replica.cache.lister import Lister

REQUEST: Final = "kube_pod_resource_request"
LIMIT: Final = "kube_pod_resource_limit"

_HELP: Final = {
    LIMIT: "What a pod may take at most of a resource, in the resource's unit.",
    REQUEST: "What a pod asks for of a resource, in the resource's unit: nodes must have as much to spare.",
}
_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


def resources_page(leads: Callable[[], bool], pods: Lister[Pod]) -> Handler:
    """All pods' requests and limits on the leader; nothing elsewhere, so that a sum over replicas counts each once."""

    def page(_: Request) -> Response:
        return Response(body=exposition(pods.list()) if leads() else b"", content_type=METRICS_TYPE)

    return page


def exposition(pods: Iterable[Pod]) -> bytes:
    """Prometheus' text for these pods, those that have ended left out."""
    kept = [pod for pod in pods if not pod.terminal]
    tails: dict[int, dict[str, list[str]]] = {}  # by specification, which pods of one template share
    lines: dict[str, list[str]] = {name: [] for name in (LIMIT, REQUEST)}
    for pod in kept:
        spec = pod.spec
        known = tails.get(id(spec))
        if known is None:
            known = tails[id(spec)] = {LIMIT: _tails(spec, spec.limits), REQUEST: _tails(spec, spec.requests)}
        head = f'{{namespace="{pod.namespace}",pod="{pod.name}",node="{_escaped(pod.node)}",'
        for name, found in known.items():
            lines[name] += [f"{name}{head}{tail}" for tail in found]
    text = [
        part
        for name, found in lines.items()
        if found
        for part in (f"# HELP {name} {_HELP[name]}", f"# TYPE {name} gauge", *found)
    ]
    return "\n".join([*text, ""]).encode("utf-8", "replace") if text else b""


def _tails(spec: PodSpec, amounts: Amounts) -> list[str]:
    """What follows namespace, pod and node in the lines of every pod of this specification."""
    scheduler = _escaped(spec.scheduler)
    priority = "" if spec.priority is None else str(spec.priority)
    return [
        f'scheduler="{scheduler}",priority="{priority}",resource="{_escaped(resource)}",unit="{unit}"}} {value}'
        for resource, count in amounts
        if count and resource != PODS
        for unit, value in (_measured(resource, count),)
    ]


def _measured(resource: str, count: int) -> tuple[str, str]:
    """Unit and value."""
    if resource == CPU:
        return "cores", repr(count / 1000).removesuffix(".0")
    if resource in {MEMORY, EPHEMERAL_STORAGE, "storage"} or resource.startswith(HUGE_PAGES):
        return "bytes", str(count)
    return "integer" if resource.startswith("attachable-volumes-") else "", str(count)


def _escaped(text: str) -> str:
    return text.translate(_ESCAPES)
