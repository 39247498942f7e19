"""What was done to a cluster, told in its traces: `chaosctl trace` shows it beside what followed."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from chaos.handoff import FAULT
from component.tracing import single

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from chaos.cluster.interface import Target
    from chaos.faults.fault import Applied

FILE: Final = "chaosctl.jsonl"
WHO: Final = "chaosctl"
CLUSTER: Final = "cluster"


def tell(folder: Path, fault: str, targets: Sequence[Target], applied: Applied, *, until: float) -> None:
    """A span for each target, from the moment before the fault was applied until its effect was seen.

    A cluster without traces, or whose disk is full, is hurt all the same.

    Args:
        folder: The cluster's.
        until: In wall seconds.
    """
    with contextlib.suppress(OSError):
        for identity in [target.identity for target in targets] or [CLUSTER]:
            single.append(
                folder / "trace" / FILE,
                FAULT,
                applied.wall,
                max(until, applied.wall),
                service=WHO,
                instance=WHO,
                attributes={"fault": fault, "target": identity},
            )
