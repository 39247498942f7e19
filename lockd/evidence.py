"""Evidence that the process which holds the lock is gone, and how long a new term is safe from it.

Evidence may be false: a firewall can forge the end of a connection. Acting on it costs a hand-off and no write, since
every write is fenced; but replicas that depose each other for ever would be of no use to anybody. So it counts once in
a term, and for nothing in the first seconds of one that followed such an error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockd.record import LeaderRecord

SWAPS = 2
"""Acquires that one piece of evidence may lead to: a renewal sent just before the death may come first."""

LONGEST_HOLDOFF = 600.0
"""Seconds that a holdoff grows to at most."""

EASED_AFTER = 4
"""A term as old as so many times its holdoff halves it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Against the holder of one term. It stays known once it is used up, as it counts once in a term.

    Attributes:
        identity: Of the holder.
        transitions: The record's, so that a later term of the same identity is another one.
        swaps: Acquires sent on it.
        renewals: Of the holder, seen since and before the first of these.
    """

    identity: str
    transitions: int
    swaps: int = 0
    renewals: int = 0

    def names(self, record: LeaderRecord) -> bool:
        """Is it against the term of this record?"""
        return (self.identity, self.transitions) == (record.holder_identity, record.leader_transitions)

    def counts(self, record: LeaderRecord) -> bool:
        """May an acquire be sent on it, this being the newest record?

        One renewal may have been on its way when the process ended, never two: the second proves that it lives.
        """
        return self.names(record) and self.swaps < SWAPS and self.renewals < 2

    def after(self, record: LeaderRecord) -> Evidence:
        """What it is once this newer record was seen."""
        return replace(self, renewals=self.renewals + 1) if self.names(record) and not self.swaps else self

    def tried(self) -> Evidence:
        """What it is once an acquire was sent on it."""
        return replace(self, swaps=self.swaps + 1)


def doubled(holdoff: float, *, lease_duration: float) -> float:
    """The holdoff after a term that was ended by false evidence."""
    return min(max(2 * holdoff, lease_duration), max(LONGEST_HOLDOFF, lease_duration))


def eased(holdoff: float, *, age: float, lease_duration: float) -> float:
    """The holdoff of a term of this age: halved once it has lasted, gone when it is below a lease."""
    if age < EASED_AFTER * holdoff:
        return holdoff
    return holdoff / 2 if holdoff / 2 >= lease_duration else 0.0
