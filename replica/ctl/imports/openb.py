"""The openb trace of a production GPU cluster: one CSV file of nodes, one of pods.

Every pod comes as pending: the phases and times of the trace are history, and the scheduler is to decide anew.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from replica.api.drafts import Draft
from replica.api.kinds import NODE, POD
from replica.api.manifests import ManifestError
from replica.api.names import label_value_problem, name_problem
from replica.ctl.imports.rows import Problems, Row, read_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GPU_MILLI: Final = "openb/gpu-milli"
"""The resource that shares of GPUs are counted in, 1000 to a GPU."""

GPU: Final = "nvidia.com/gpu"
WHOLE: Final = 1000
MODEL: Final = "openb/gpu-model"
"""The label of a node that names its GPUs' model."""

HOSTNAME: Final = "kubernetes.io/hostname"
QOS: Final = "openb/qos"

NODE_COLUMNS: Final = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS: Final = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos")
IGNORED_COLUMNS: Final = ("pod_phase", "creation_time", "deletion_time", "scheduled_time")
"""What else a file of pods holds."""

_MOST_GPUS: Final = 1024


def read_trace(nodes: Path, pods: Path, *, namespace: str) -> tuple[Draft, ...]:
    """The nodes, then the pods, each in the order of its file.

    Raises:
        ManifestError: With the problems of both files.
    """
    told: list[str] = []
    drafts: list[Draft] = []
    for path, columns, make in ((nodes, NODE_COLUMNS, _node), (pods, POD_COLUMNS, _pod)):
        problems = Problems()
        found = []
        try:
            found = _drafts(path, columns, problems, partial(make, namespace=namespace))
        except OSError as error:
            problems.add(f"{path}: {error.strerror or error}")
        if not (found or problems.count):
            problems.add(f"{path}: no rows after the header")
        told += problems.told(str(path))
        drafts += found
    if told:
        raise ManifestError(told)
    return tuple(drafts)


def _drafts(path: Path, columns: tuple[str, ...], problems: Problems, make: Callable[[Row], Draft]) -> list[Draft]:
    lines: dict[str, int] = {}
    drafts = []
    for row in read_rows(path, columns, problems):
        draft = make(row)
        first = lines.setdefault(draft.name, row.line) if draft.name else row.line
        if first != row.line:
            row.wrong(columns[0], f"is the name in line {first} too: each row needs one of its own")
        drafts.append(draft)
    return drafts


def _node(row: Row, namespace: str) -> Draft:  # noqa: ARG001 - made as pods are, which have one
    name = row.text("sn", name_problem)
    gpus = row.number("gpu", most=_MOST_GPUS)
    model = row.text("model", label_value_problem)
    amounts: dict[str, str] = _cpu_and_memory(row)
    if gpus:
        amounts[GPU_MILLI] = str(gpus * WHOLE)
        amounts[GPU] = str(gpus)
    labels = {HOSTNAME: name} if label_value_problem(name) is None else {}
    if model:
        labels[MODEL] = model
    document = {
        "apiVersion": "v1",
        "kind": NODE.kind,
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": amounts, "allocatable": amounts},
    }
    return Draft(NODE, "", name, document, source=row.place)


def _pod(row: Row, namespace: str) -> Draft:
    name = row.text("name", name_problem)
    gpus = row.number("num_gpu", most=_MOST_GPUS)
    milli = row.number("gpu_milli", least=1 if gpus else 0, most=WHOLE)
    models = _models(row)
    qos = row.text("qos", label_value_problem)
    requests = _cpu_and_memory(row)
    if gpus:
        requests[GPU_MILLI] = str(gpus * milli)
    if gpus and milli == WHOLE:
        requests[GPU] = str(gpus)
    # Kubernetes wants a limit of each extended resource, the same as its request.
    limits = {resource: amount for resource, amount in requests.items() if "/" in resource}
    resources: dict[str, Any] = {"requests": requests, **({"limits": limits} if limits else {})}
    spec: dict[str, Any] = {"containers": [{"name": "main", "image": "openb", "resources": resources}]}
    if models:
        spec["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _one_of(models)}}
    labels = {QOS: qos} if qos else {}
    document = {
        "apiVersion": "v1",
        "kind": POD.kind,
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": spec,
    }
    return Draft(POD, namespace, name, document, source=row.place)


def _cpu_and_memory(row: Row) -> dict[str, str]:
    return {"cpu": f"{row.number('cpu_milli')}m", "memory": f"{row.number('memory_mib')}Mi"}


def _models(row: Row) -> list[str]:
    """The models of `gpu_spec`, such as `V100M16|V100M32`; none where it is empty."""
    text = row.text("gpu_spec")
    models = [model.strip() for model in text.split("|")] if text else []
    for model in models:
        problem = label_value_problem(model) or (None if model else "names no model between two |")
        if problem is not None:
            row.wrong("gpu_spec", f"{problem}: models with | between them are wanted, such as V100M16|V100M32")
            return []
    return list(dict.fromkeys(models))


def _one_of(models: list[str]) -> dict[str, Any]:
    expression = {"key": MODEL, "operator": "In", "values": models}
    return {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
