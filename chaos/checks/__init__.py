"""What a history must show, one file a subject: pure functions from a ledger to the violations in it."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from chaos.checks import binds, capacity, events, placement, terms, writes

if TYPE_CHECKING:
    from chaos.checks.violation import Check, Violation
    from chaos.ledger import Ledger

ALWAYS: tuple[Check, ...] = (
    writes.readable,
    writes.tokens,
    terms.acquires,
    terms.leases,
    terms.deletions,
    binds.double_binds,
    capacity.overcommits,
    events.reused_keys,
)
"""The checks that any moment of a history must pass."""

SETTLED: tuple[Check, ...] = (*ALWAYS, binds.lost_pods, placement.needless_waits)
"""Those, and what must hold once the cluster had its time."""


def judge(ledger: Ledger, checks: tuple[Check, ...]) -> tuple[Violation, ...]:
    """Every violation, in the order of the revisions."""
    found = chain.from_iterable(check(ledger) for check in checks)
    return tuple(sorted(found, key=lambda violation: (violation.revision, violation.key, violation.check)))
