"""What the demonstration shows at its end, as lines for people and as a document."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from chaos.measure.phases import milliseconds as in_ms
from component.tables import table
from component.tracing.waterfall import milliseconds

if TYPE_CHECKING:
    from pathlib import Path

    from chaos.demo import Outcome
    from chaos.handoff import Handoff


def lines(outcome: Outcome, folder: Path) -> list[str]:
    """Who led when, each phase of each hand-off, where the pods are, what history says, and where the trace is."""
    return [
        "",
        "Who led when (a token is the etcd revision at which the term began)",
        *_terms(outcome),
        "",
        "Latency by phase, from the signal on (detection, election, warm-up, first bind by the replicas' traces;",
        "released and held by etcd's commits as a watch saw them)",
        *_latency(outcome),
        "",
        "Placement",
        *_placement(outcome.placement),
        "",
        f"Audit of etcd's history: {outcome.report.verdict()}",
        *(f"  {violation.check}: {violation.key}: {violation.message}" for violation in outcome.report.violations[:20]),
        f"  {_counts(outcome)}",
        f"Traces: {folder / 'trace'} (see them with: chaosctl trace {folder})",
    ]


def document(outcome: Outcome, folder: Path) -> dict[str, Any]:
    """The same for machines; latencies in milliseconds."""
    return {
        "dir": str(folder),
        "handoffs": [
            {
                "fault": seen.action.fault,
                "from": seen.action.identity,
                "to": seen.new.identity,
                "token": seen.new.token,
                "released_ms": in_ms(seen.released),
                "held_ms": in_ms(seen.phases.elected),
                "first_bind_ms": in_ms(seen.phases.first_bind),
                "phases_ms": told.document()["phases_ms"] if (told := _told(outcome, seen.new.token)) else None,
            }
            for seen in outcome.observed
        ],
        "placement": outcome.placement,
        "audit": outcome.report.document(),
    }


def _terms(outcome: Outcome) -> list[str]:
    def moment(revision: int | None) -> str:
        if revision is None:
            return "now"
        return f"+{outcome.moments[revision]:.3f} s" if revision in outcome.moments else f"revision {revision}"

    rows = [
        (
            str(term.token),
            outcome.names.get(term.identity, "-"),
            moment(term.token),
            moment(term.until_revision),
            term.identity,
        )
        for term in outcome.report.ledger.terms.by_token.values()
    ]
    return table(("TOKEN", "REPLICA", "FROM", "TO", "IDENTITY"), rows)


def _latency(outcome: Outcome) -> list[str]:
    head = ("HAND-OFF", "FROM", "TO", "DETECTION", "ELECTION", "WARM-UP", "FIRST BIND", "TOTAL", "RELEASED", "HELD")
    rows = []
    for seen in outcome.observed:
        told = _told(outcome, seen.new.token)
        phases = told.phases if told is not None else {}
        names = ("detection", "election", "warm_up", "first_bind", "total")
        rows.append(
            (
                seen.action.fault,
                outcome.names.get(seen.action.identity, "-"),
                outcome.names.get(seen.new.identity, "-"),
                *(milliseconds(phases.get(name)) for name in names),
                milliseconds(seen.released),
                milliseconds(seen.phases.elected),
            )
        )
    return table(head, rows)


def _told(outcome: Outcome, token: int) -> Handoff | None:
    return next((handoff for handoff in outcome.handoffs if handoff.token == token), None)


def _placement(placement: dict[str, str]) -> list[str]:
    """Pods on each node, by what comes before the number in their names."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pod, node in placement.items():
        counts[node or "(none)"][pod.rpartition("/")[2].rpartition("-")[0]] += 1
    groups = sorted({group for count in counts.values() for group in count})
    rows = [
        (node, str(count.total()), *(str(count[group]) for group in groups)) for node, count in sorted(counts.items())
    ]
    return table(("NODE", "PODS", *(group.upper() for group in groups)), rows)


def _counts(outcome: Outcome) -> str:
    told = outcome.report.document()
    pods, nodes, writes = told["pods"], told["nodes"], told["writes"]
    return (
        f"{pods['bound']} pods bound, {pods['double_bound']} of them twice, {pods['lost']} lost; "
        f"{nodes['overcommitted']} of {nodes['count']} nodes overcommitted; "
        f"{writes['guarded']} guarded writes, {writes['user']} by users"
    )
