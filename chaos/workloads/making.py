"""Pods and nodes of workloads, as a user's manifests would say them."""

from __future__ import annotations

from itertools import count, cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from replica.api.drafts import Draft
from replica.api.kinds import NODE, POD
from replica.ctl.imports.openb import read_trace

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMESPACE: Final = "chaos"
"""Of all pods of workloads."""

_TRACE: Final = Path(__file__).parent


def nodes(number: int, *, pods: int = 1000) -> tuple[Draft, ...]:
    """Nodes `node-000` and on, each of which takes so many pods."""
    amounts = {"cpu": "64", "memory": "256Gi", "pods": str(pods)}
    return tuple(
        Draft.of(
            NODE,
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": f"node-{index:03}"},
                "status": {"capacity": amounts, "allocatable": amounts},
            },
        )
        for index in range(number)
    )


def pods() -> Iterator[Draft]:
    """Pods `pod-000000` and on, of three sizes in turn, without end."""
    sizes = cycle((("100m", "128Mi"), ("250m", "256Mi"), ("50m", "64Mi")))
    for index, (cpu, memory) in zip(count(), sizes, strict=False):
        yield _pod(f"pod-{index:06}", {"cpu": cpu, "memory": memory})


def trace_nodes() -> tuple[Draft, ...]:
    """The nodes of the small trace that is shipped."""
    return tuple(draft for draft in _trace() if draft.kind == NODE)


def trace_pods() -> Iterator[Draft]:
    """The pods of that trace again and again, each time under new names."""
    found = [draft for draft in _trace() if draft.kind == POD]
    for turn in count():
        for draft in found:
            name = f"{draft.name}-{turn:03}"
            metadata = {**draft.document["metadata"], "name": name}
            yield Draft(POD, draft.namespace, name, {**draft.document, "metadata": metadata}, source=draft.source)


def _trace() -> tuple[Draft, ...]:
    return read_trace(_TRACE / "openb_nodes.csv", _TRACE / "openb_pods.csv", namespace=NAMESPACE)


def _pod(name: str, requests: dict[str, str]) -> Draft:
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"containers": [{"name": "main", "image": "app", "resources": {"requests": requests}}]},
    }
    return Draft(POD, NAMESPACE, name, document)
