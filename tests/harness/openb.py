"""Small traces in the form of openb's files, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replica.ctl.imports.openb import IGNORED_COLUMNS, NODE_COLUMNS, POD_COLUMNS

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from pathlib import Path


def pod_row(
    name: str,
    cpu: int,
    memory: int,
    gpus: int = 0,
    milli: int = 0,
    *,
    spec: str = "",
    qos: str = "LS",
    phase: str = "Pending",
) -> tuple[str, ...]:
    """A pod's row, with a history that is to be ignored."""
    return (*map(str, (name, cpu, memory, gpus, milli)), spec, qos, phase, "0", "12537496", "7")


def write_csv(rows: Sequence[tuple[str, ...]], columns: Sequence[str] = (*POD_COLUMNS, *IGNORED_COLUMNS)) -> str:
    """A file's text: a header and rows."""
    return "".join(f"{','.join(row)}\n" for row in (tuple(columns), *rows))


def write_trace(folder: Path, draw: random.Random, *, nodes: int, pods: int) -> tuple[Path, Path]:
    """A trace that asks for more than there is: of GPUs in all, and of one model in particular.

    Returns:
        The file of nodes and that of pods.
    """
    models = ("V100M16", "V100M32", "T4", "")
    node_rows = []
    for number in range(nodes):
        model = models[number % len(models)]
        node_rows.append((f"node-{number:04}", "64000", "262144", "8" if model else "0", model))
    pod_rows = []
    for number in range(pods):
        cpu, memory = draw.choice((1000, 2000, 4000)), draw.choice((1024, 4096, 8192))
        gpus, milli = draw.choice(((0, 0), (1, 230), (1, 460), (1, 460), (1, 810), (1, 1000), (2, 1000)))
        spec = draw.choice(("", "", "V100M16|V100M32", "V100M32", "T4")) if gpus else ""
        pod_rows.append(pod_row(f"pod-{number:04}", cpu, memory, gpus, milli, spec=spec))
    # Nobody has this model.
    pod_rows.append(pod_row("pod-of-another-age", 1000, 1024, 1, 1000, spec="K80|K40"))
    paths = folder / "nodes.csv", folder / "pods.csv"
    paths[0].write_text(write_csv(node_rows, NODE_COLUMNS))
    paths[1].write_text(write_csv(pod_rows))
    return paths
