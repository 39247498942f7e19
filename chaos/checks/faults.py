"""A fault counts only if it was seen to take effect, and a run is over only when all were seen to be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.checks.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.record import Record


def unproven(record: Record) -> Iterator[Violation]:
    """Each action has a proof that it took effect; each that has something to undo was undone, with a proof too."""
    for action in record.actions:
        problem = ""
        if not action.proof:
            problem = "nothing was observed that shows that it took effect"
        elif action.heals and action.healed_at is None:
            problem = "it was never undone"
        elif action.heals and not action.healing:
            problem = "nothing was observed that shows that it was undone"
        if problem:
            yield Violation(
                check="fault-unproven",
                message=f"{action.fault} on {action.target}: {problem}",
                identity=action.identity,
                at=action.at,
            )
