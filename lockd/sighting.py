"""Who leads, as one who only looks on can tell."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lockd.observed import Observed

HEADERS: Final = ("TIME", "STATE", "TOKEN", "TAKEOVER", "HOLDER")
_WIDTHS: Final = (27, 10, 8, 8, 0)


class State(Enum):
    """What a lock is in."""

    HELD = "held"
    FREE = "free"
    EXPIRED = "expired"
    """Its holder has not renewed for the lease duration: whoever stands by takes it."""
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Sighting:
    """A lock at one moment.

    Attributes:
        holder: "" when nobody holds it, or nobody knows who.
        token: The fencing token of the holder's term; 0 for none.
        takeover: How that term began.
        revision: The lease key's mod revision.
    """

    state: State
    holder: str = ""
    token: int = 0
    takeover: str = ""
    acquired: str = ""
    lease_duration: float = 0.0
    revision: int = 0

    @classmethod
    def of(cls, observed: Observed, now: float) -> Sighting | None:
        """What was observed says at `now`; None while lease and term are of two terms: their events come one by one."""
        lease, record = observed.lease, observed.record
        if lease is None:
            return None
        if record is None:
            return cls(State.FREE if lease.value is None else State.UNREADABLE, revision=lease.revision)
        term = observed.term_value
        if term is None or observed.term is None or term.holder_identity != record.holder_identity:
            return None
        if not record.holder_identity:
            return cls(State.FREE, revision=lease.revision)
        expired = now >= observed.first_seen + record.lease_duration
        return cls(
            State.EXPIRED if expired else State.HELD,
            holder=record.holder_identity,
            token=observed.term.revision,
            takeover=record.takeover,
            acquired=record.acquire_time,
            lease_duration=record.lease_duration,
            revision=lease.revision,
        )

    def news(self, before: Sighting | None) -> bool:
        """Is it another leader, or another state, than before? A renewal is nothing new."""
        return before is None or (self.state, self.token) != (before.state, before.token)

    def document(self, lock: str, time: str) -> dict[str, Any]:
        """For machines; `time` is when it was seen, in RFC 3339."""
        return {
            "lock": lock,
            "observedTime": time,
            "state": self.state.value,
            "holderIdentity": self.holder,
            "fencingToken": self.token or None,
            "takeover": self.takeover,
            "acquireTime": self.acquired,
            "leaseDurationSeconds": self.lease_duration,
            "modRevision": self.revision,
        }

    def row(self, time: str) -> str:
        """For people; the columns of `header`."""
        return _line(time, self.state.value, str(self.token or "-"), self.takeover or "-", self.holder or "<nobody>")


def header() -> str:
    return _line(*HEADERS)


def _line(*cells: str) -> str:
    return "   ".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True)).rstrip()
