"""What an audit says: the document for machines and the tables for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from chaos.checks.capacity import overcommitted
from chaos.pods import PodLife, lives
from chaos.unplaced import Unplaced, unplaced
from component.tables import table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chaos.checks.violation import Violation
    from chaos.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Report:
    """A judged history.

    Attributes:
        violations: In the order of the revisions.
        pods: Every pod that the history shows.
        unplaced: Those that are pending at its end, each held against every node once more.
        overcommitted: Names of nodes that some bind, anybody's, left with too little.
    """

    ledger: Ledger
    violations: tuple[Violation, ...]
    pods: tuple[PodLife, ...]
    unplaced: tuple[Unplaced, ...]
    overcommitted: frozenset[str]

    @classmethod
    def of(cls, ledger: Ledger, violations: tuple[Violation, ...]) -> Report:
        nodes = frozenset(found.node for found in overcommitted(ledger))
        return cls(ledger, violations, lives(ledger), unplaced(ledger), nodes)

    @property
    def passed(self) -> bool:
        """Nothing is wrong, and nothing is missing that could be."""
        return not self.violations and not self.incomplete

    @property
    def incomplete(self) -> bool:
        """Is a part of the history missing, or all of it?"""
        return self.ledger.history.incomplete or self.ledger.history.empty

    @property
    def lost(self) -> int:
        return _count(pod.lost for pod in self.pods)

    def document(self) -> dict[str, Any]:
        """The JSON document of `chaosctl audit`. Keys are whole; a token of 0 is a user's, or none."""
        history, prefix = self.ledger.history, self.ledger.history.prefix
        guarded = _count(write.token > 0 for write in self.ledger.writes)
        return {
            "from_revision": history.from_revision,
            "incomplete": self.incomplete,
            "terms": [
                {
                    "token": term.token,
                    "identity": term.identity,
                    "since_revision": term.token,
                    "until_revision": term.until_revision,
                }
                for term in self.ledger.terms.by_token.values()
            ],
            "writes": {"guarded": guarded, "user": len(self.ledger.writes) - guarded},
            "violations": [
                {
                    "check": violation.check,
                    "revision": violation.revision,
                    "key": f"{prefix}/{violation.key}",
                    "token": violation.token,
                    "term_token": violation.term_token,
                    "message": violation.message,
                }
                for violation in self.violations
            ],
            "pods": {
                "bound": _count(pod.bound for pod in self.pods),
                "bound_by_user": _count(pod.bound_by_user for pod in self.pods),
                "pending": _count(pod.pending for pod in self.pods),
                "lost": self.lost,
                "double_bound": _count(len(pod.placements) > 1 for pod in self.pods),
                "deleted": {
                    "by_user": _count(pod.deleted_by == 0 for pod in self.pods),
                    "by_leader": _count((pod.deleted_by or 0) > 0 for pod in self.pods),
                },
            },
            "unplaced": [each.document(prefix) for each in self.unplaced],
            "nodes": {
                "count": _count(key.startswith("nodes/") for key in self.ledger.final),
                "overcommitted": len(self.overcommitted),
            },
        }

    def lines(self, *, most: int = 20) -> list[str]:
        """The same for people, `most` violations at most; the verdict alone where there was nothing to judge."""
        if self.ledger.history.empty:
            return [self.verdict()]
        document = self.document()
        pods, deleted = document["pods"], document["pods"]["deleted"]
        lines = [
            *self._terms(),
            "",
            f"revisions  {document['from_revision']} to {self.ledger.history.to_revision}",
            f"writes     {document['writes']['guarded']} guarded, {document['writes']['user']} by users",
            f"pods       {pods['bound']} bound ({pods['bound_by_user']} by users), {pods['pending']} pending",
            f"           {pods['lost']} lost, {pods['double_bound']} bound twice",
            f"           {deleted['by_user']} deleted by users, {deleted['by_leader']} by leaders",
            *self._pending(),
            f"nodes      {document['nodes']['count']}, {document['nodes']['overcommitted']} overcommitted",
            "",
        ]
        lines.extend(
            f"{violation['check']} at revision {violation['revision']}: {violation['key']}: {violation['message']}"
            for violation in document["violations"][:most]
        )
        if len(self.violations) > most:
            lines.append(f"... and {len(self.violations) - most} more: -o json lists all")
        lines.append(self.verdict())
        return lines

    def _pending(self) -> list[str]:
        """How many of the pending pods no node takes."""
        if not self.unplaced:
            return []
        fit = _count(bool(each.verdict.fits) for each in self.unplaced)
        unjudged = _count(bool(each.verdict.unjudged) for each in self.unplaced)
        nowhere = len(self.unplaced) - fit - unjudged
        return [f"           of the pending no node takes {nowhere}, some node {fit}; {unjudged} not judged"]

    def _terms(self) -> list[str]:
        """The table of terms; it names the locks if there are several."""
        terms = tuple(self.ledger.terms.by_token.values())
        several = len({term.lock for term in terms}) > 1
        rows = [
            (
                str(term.token),
                *((term.lock,) if several else ()),
                term.identity,
                str(term.token),
                "now" if term.until_revision is None else str(term.until_revision),
            )
            for term in terms
        ]
        return table(("TOKEN", *(("LOCK",) if several else ()), "HOLDER", "SINCE", "UNTIL"), rows)

    def verdict(self) -> str:
        """One line."""
        history = self.ledger.history
        if history.empty:
            return f"INCOMPLETE: nothing to judge: no key has ever been under {history.prefix}: check --prefix"
        count = len(self.violations)
        said = "no violation" if not count else "1 violation" if count == 1 else f"{count} violations"
        if history.incomplete:
            return f"INCOMPLETE: etcd has compacted what was before revision {history.from_revision}; {said} since"
        return f"{'FAILED' if self.violations else 'PASSED'}: {said}"


def _count(found: Iterable[bool]) -> int:
    return sum(found)
