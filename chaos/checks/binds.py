"""Every pod gets one node, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.checks.violation import Violation
from chaos.pods import lives

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.ledger import Ledger
    from chaos.record import Record


def double_binds(record: Record) -> Iterator[Violation]:
    """A pod that has a node never goes to another."""
    ledger = record.ledger
    for pod in lives(ledger):
        for first, second in zip(pod.placements, pod.placements[1:], strict=False):
            yield Violation(
                check="double-bind",
                revision=second.revision,
                key=pod.key,
                token=second.token,
                term_token=_in_force(ledger, second.revision),
                message=f"bound to {second.node}, after {first.node} at revision {first.revision}",
            )


def lost_pods(record: Record) -> Iterator[Violation]:
    """A pod that waits has a node, a gate, or was told why not."""
    ledger = record.ledger
    for pod in lives(ledger) if record.settled else ():
        if pod.lost:
            yield Violation(
                check="lost-pod",
                revision=pod.seen,
                key=pod.key,
                token=pod.token,
                term_token=_in_force(ledger, pod.seen),
                message="has neither a node nor a scheduling gate nor a PodScheduled=False condition",
            )


def _in_force(ledger: Ledger, revision: int) -> int:
    term = ledger.terms.standing(revision)
    return term.token if term is not None else 0
