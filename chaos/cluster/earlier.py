"""Logs and traces of the clusters that a folder held before: moved aside, so that none is taken for the new one's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

    from chaos.cluster.plan import Plan

_LOGS: Final = ("replica-*.log", "lockd-*.log", "proxy.log")


def put_aside(plan: Plan) -> Path | None:
    """Move what an ended cluster left to `earlier/<n>`. `log/supervisor.log` goes on: it may be open.

    Returns:
        Where it is now; None: there was nothing.

    Raises:
        OSError: A file can't be moved.
    """
    logs = (path for name in _LOGS for path in sorted(plan.logs.glob(name)))
    old = [*logs, *sorted(plan.traces.glob("*.jsonl"))]
    if not old:
        return None
    number = 1
    while (place := plan.folder / "earlier" / str(number)).exists():
        number += 1
    for path in old:
        (place / path.parent.name).mkdir(parents=True, exist_ok=True)
        path.rename(place / path.parent.name / path.name)
    return place
