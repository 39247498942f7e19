"""What a candidate has seen of the lock's keys, and when the lock is free by that.

Only what is newer than all that was applied before counts. A watch on a lagging member, a late reply and a late event
of a predecessor show old states in good faith: taken at face value they would scare a new leader off, or give an old
record a second life.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lockd.record import HistoryEntry, LeaderRecord, TermValue, deposed_token, parse_history, refused_writes

if TYPE_CHECKING:
    from lockd.ports import Seen, View

PREFERENCE_SECONDS = 1.0
"""How long the others leave a released lock to a preferred holder that stands by."""


@dataclass(frozen=True, slots=True)
class Switchover:
    """A user's wish that the term with this token ends, and who should follow ("": anyone)."""

    candidate: str
    token: int

    @classmethod
    def parse(cls, value: bytes | None) -> Switchover | None:
        try:
            document = json.loads(value or b"null")
            wish = cls(document["candidate"] or "", document["token"])
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        return wish if isinstance(wish.candidate, str) and type(wish.token) is int and wish.token > 0 else None


@dataclass(frozen=True, slots=True)
class Observed:
    """The newest state applied of each key; None is not known yet.

    Attributes:
        lease: The lease key.
        record: Its election record; None when absent, or when it can't be read: its holder is then unknown.
        first_seen: When this state of the lease was first seen, on this process's clock.
        term_seen: When the first record of its term was.
        unfenced_until: Until when the last holder that etcd can't fence may still act.
        term: The term key.
        history: The terms so far, as of `history_term`.
        history_term: The term key's mod revision that `history` belongs to; None when none is known.
        recorded: The history key as its last event brought it.
        read_revision: etcd's revision at the last whole read.
        switchover: The last wish seen.
        candidates: Identities that stand by or lead.
        deposed: Marks of leaders that were deposed while they lived: identity and token.
        refusals: Marks of leaders whose late writes etcd refused: identity and how many.
    """

    lease: Seen | None = None
    record: LeaderRecord | None = None
    first_seen: float = 0.0
    term_seen: float = 0.0
    unfenced_until: float = -math.inf
    term: Seen | None = None
    history: tuple[HistoryEntry, ...] = ()
    history_term: int | None = None
    recorded: Seen | None = None
    read_revision: int = 0
    switchover: Switchover | None = None
    candidates: frozenset[str] = frozenset()
    deposed: frozenset[tuple[str, int]] = frozenset()
    refusals: frozenset[tuple[str, int]] = frozenset()

    def with_lease(self, seen: Seen, now: float) -> Observed | None:
        """This and the lease as seen; None when that is not newer."""
        if self.lease is not None and not _newer(seen, self.lease):
            return None
        record = LeaderRecord.parse(seen.value) if seen.value is not None else None
        unfenced_until = self.unfenced_until
        if record is not None:
            held_unfenced = record.holder_identity and not record.fenced
            unfenced_until = now + record.lease_duration if held_unfenced else -math.inf
        fresh = replace(self, lease=seen, record=record, first_seen=now, unfenced_until=unfenced_until)
        return fresh if _term(record) == _term(self.record) else replace(fresh, term_seen=now)

    def with_term(self, seen: Seen) -> Observed | None:
        """This and the term as seen; None when that is not newer."""
        if self.term is not None and not _newer(seen, self.term):
            return None
        return _joined(replace(self, term=seen))

    def with_recorded(self, seen: Seen) -> Observed:
        """This and the history key as an event brought it."""
        if self.recorded is not None and not _newer(seen, self.recorded):
            return self
        return _joined(replace(self, recorded=seen))

    def with_history(self, view: View) -> Observed:
        """This and the history of a whole read, if it is of the term as it stands here."""
        if view.history is None:
            return self
        revision = max(self.read_revision, view.revision)
        if self.term is None or view.term.mod_revision != self.term.mod_revision:
            return replace(self, read_revision=revision)
        entries = parse_history(view.history.value, view.history.mod_revision)
        return replace(self, read_revision=revision, history=entries, history_term=view.term.mod_revision)

    def with_candidate(self, identity: str, value: bytes | None) -> Observed:
        """This and a candidate's key; who carries a mark is on its way out, and stands by no more."""
        token, refused = (deposed_token(value), refused_writes(value)) if value is not None else (0, 0)
        candidates = self.candidates - {identity}
        deposed = frozenset(mark for mark in self.deposed if mark[0] != identity)
        refusals = frozenset(mark for mark in self.refusals if mark[0] != identity)
        if token:
            deposed |= {(identity, token)}
        if refused:
            refusals |= {(identity, refused)}
        if value is not None and not token and not refused:
            candidates |= {identity}
        return replace(self, candidates=candidates, deposed=deposed, refusals=refusals)

    @property
    def is_whole(self) -> bool:
        """Is all known that an acquire compares and carries on?

        The history must be the term's. And a release writes all three at one revision, but their events come one by
        one: an empty record newer than the term seen asks for a read. What comes first, the other events or its answer,
        makes it whole.
        """
        if self.lease is None or self.term is None or self.history_term != self.term.mod_revision:
            return False
        freed = self.lease.value is None or (self.record is not None and not self.record.holder_identity)
        return not freed or max(self.term.revision, self.read_revision) >= self.lease.revision

    @property
    def released_in_part(self) -> bool:
        """Does the lease or the term tell of a release? Not before a first whole read: they are what there is, then."""
        if not self.read_revision:
            return False
        lease_free = self.record is not None and not self.record.holder_identity
        term_free = self.term_value is not None and not self.term_value.holder_identity
        return lease_free or term_free

    def reaches(self, token: int) -> bool:
        """Is the term as seen of this token's time or later? A late answer may show an older one in good faith."""
        return self.term is not None and self.term.revision >= token

    @property
    def unreadable(self) -> bool:
        """Is there a record that names no holder and duration that could be trusted?"""
        return self.lease is not None and self.lease.value is not None and self.record is None

    @property
    def term_value(self) -> TermValue | None:
        value = self.term.value if self.term is not None else None
        return TermValue.parse(value) if value is not None else None

    def free_at(self, identity: str, lease_duration: float, *, mine: bool) -> float:
        """From when on this candidate may take the lock; at the very moment it may.

        Args:
            identity: The candidate's own.
            lease_duration: Its own; used only where the record names none.
            mine: This very process wrote the record.
        """
        if self.lease is None:
            return math.inf
        if self.lease.value is None:
            return max(self.first_seen, self.unfenced_until)
        if self.record is None:
            return self.first_seen + lease_duration
        holder = self.record.holder_identity
        if not holder:
            preferred = self.record.preferred_holder
            yields = preferred and preferred != identity and preferred in self.candidates
            return self.first_seen + (PREFERENCE_SECONDS if yields else 0.0)
        if holder == identity and mine:
            return self.first_seen  # my own late acquire, in a term that I don't lead
        return self.first_seen + self.record.lease_duration

    def takeover(self) -> str:
        """How a term that replaces this record begins: as the record names it."""
        if self.lease is None or self.lease.value is None:
            return "first"
        if self.record is not None and not self.record.holder_identity:
            return "release"
        return "expiry"


def _term(record: LeaderRecord | None) -> tuple[str, int] | None:
    """What tells one term from another in the record alone."""
    return None if record is None else (record.holder_identity, record.leader_transitions)


def _newer(seen: Seen, known: Seen) -> bool:
    """An absence known at a later revision is news only if the key was there: absent states carry no own revision."""
    if seen.value is None and known.value is None:
        return False
    return seen.revision > known.revision


def _joined(observed: Observed) -> Observed:
    """One transaction writes term and history, so of one revision they belong together, whichever came first."""
    term, recorded = observed.term, observed.recorded
    if term is None or recorded is None or term.value is None or recorded.value is None:
        return observed
    if term.revision != recorded.revision or observed.history_term == term.revision:
        return observed
    entries = parse_history(recorded.value, recorded.revision)
    return replace(observed, history=entries, history_term=term.revision)
