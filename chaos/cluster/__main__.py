"""A supervisor as a process of its own: `python -m chaos.cluster PLAN`, the plan as JSON."""

from __future__ import annotations

import json
import sys

from chaos.cluster.plan import Plan
from chaos.cluster.supervisor import supervise
from chaos.output import failures
from chaos.stopping import stop_by_signal
from component.console import FAILED, leave, note


def main(document: str) -> None:
    """Keep the cluster until a signal asks to end it."""
    plan = Plan.parse(json.loads(document))
    stop = stop_by_signal()
    try:
        with failures():
            supervise(plan, stop, tell=note)
    except OSError as error:
        leave((f"{error.filename or plan.folder}: {error.strerror or error}",), FAILED)


if __name__ == "__main__":
    main(sys.argv[1])
