"""What a run must show, one file a subject: pure functions from a record to the violations in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chaos.checks import (
    barrier,
    beliefs,
    binds,
    capacity,
    events,
    evidence,
    exits,
    faults,
    gangs,
    liveness,
    placement,
    preemptions,
    realtime,
    terms,
    writes,
)
from chaos.checks.check import Check

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chaos.checks.violation import Violation
    from chaos.record import Record

_CHECKS = (
    Check(
        "one-term",
        "one term at a time, and the lease is its holder's",
        (terms.acquires, terms.leases, terms.releases, terms.deletions),
    ),
    Check(
        "fenced-writes", "no write of a term takes effect after the next one began", (writes.readable, writes.tokens)
    ),
    Check("event-keys", "an event's key tells its author and is used once", (events.reused_keys,)),
    Check("beliefs", "nobody believes to lead beside another, beyond what the guarantees state", (beliefs.overlaps,)),
    Check(
        "evidence",
        "nobody alive is replaced by evidence, unless a fault ended its connections",
        (evidence.unfounded,),
    ),
    Check("barrier", "a new leader has seen what came before its term when it places pods", (barrier.stale_views,)),
    Check("bound-once", "each pod gets one node, once", (binds.double_binds,)),
    Check(
        "none-lost",
        "no pod is lost, or left waiting though a node takes it",
        (binds.lost_pods, placement.needless_waits),
    ),
    Check(
        "preemption",
        "a leader has a pod go only for one that matters more, and not before its grace period is over",
        (preemptions.unfounded, preemptions.early),
    ),
    Check("gangs", "a gang that one transaction takes is bound whole or not at all", (gangs.partly_bound,)),
    Check("capacity", "no node is given more than it has", (capacity.overcommits,)),
    Check(
        "real-time",
        "replies and revisions agree with real time, and unknown outcomes with history",
        (realtime.order, realtime.causes, realtime.outcomes),
    ),
    Check("liveness", "after the last fault was healed somebody leads within a lease", (liveness.leaderless,)),
    Check("exits", "a process ends with the code and within the bound of its reason", (exits.codes, exits.bounds)),
    Check("faults", "each fault took effect, stayed in force, and was undone", (faults.unproven, faults.ineffective)),
)

CHECKS: Final[dict[str, Check]] = {check.name: check for check in _CHECKS}
"""Every check, by name. What a record doesn't tell about breaks none."""


def judged(record: Record, checks: Iterable[Check] = _CHECKS) -> dict[str, tuple[Violation, ...]]:
    """What each of these checks finds, by its name."""
    return {check.name: check(record) for check in checks}


def judge(record: Record, checks: Iterable[Check] = _CHECKS) -> tuple[Violation, ...]:
    """Every violation that these checks find, by revision and moment."""
    found = (violation for violations in judged(record, checks).values() for violation in violations)
    return tuple(sorted(found, key=lambda violation: violation.place))
