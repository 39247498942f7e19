"""What the lock's keys hold: the election record, the term's value and the history of terms.

Parsing never raises: a value that can't be read is None, and the election treats its holder as unknown.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

HISTORY_LIMIT: Final = 100
"""Terms kept in the history key."""

TEXT_LIMIT: Final = 300
"""Characters kept of each text in it: whatever somebody put there, the next acquire must fit into a transaction."""

SEEN_AT_A_TIME: Final = 8
"""Values of a kind that are parsed once for all contenders of a process: they see the same ones at about one time."""

TAKEOVERS: Final = ("first", "release", "expiry", "evidence")


def display_time(wall: float) -> str:
    """RFC 3339 in UTC with microseconds, from seconds since 1970."""
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _encode(document: dict[str, Any]) -> bytes:
    # What was read may hold half of a surrogate pair, which JSON can say and UTF-8 can't.
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode(errors="replace")


def _load(value: bytes) -> Any:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _text(document: dict[str, Any], name: str) -> str:
    value = document.get(name, "")
    return value if isinstance(value, str) else ""


def _number(document: dict[str, Any], name: str) -> float:
    """A finite number, or NaN."""
    value = document.get(name)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e9:
        return float(value)
    return math.nan


def _count(document: dict[str, Any], name: str) -> int:
    value = document.get(name, 0)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderRecord:
    """The election record: who holds the lease and for how long after its last change was seen.

    Attributes:
        holder_identity: "" when nobody holds it.
        lease_duration: Seconds, fractions kept; the holder's, and what others must wait.
        acquire_time: RFC 3339, display only.
        renew_time: RFC 3339, display only.
        renewal: Unique to each write, so that a writer knows its own.
        fenced: Are all effects of the holder guarded by etcd?
        takeover: How the term began: `first`, `release`, `expiry` or `evidence`.
        presence_holdoff: Seconds of a term in which evidence counts for nothing.
        traceparent: W3C trace context of the term's anchor span.
        extra: Fields this version doesn't know; a renewal and a release keep them.
    """

    holder_identity: str = ""
    lease_duration: float = 1.0
    acquire_time: str = ""
    renew_time: str = ""
    leader_transitions: int = 0
    renewal: str = ""
    fenced: bool = True
    preferred_holder: str = ""
    takeover: str = ""
    presence_address: str = ""
    presence_holdoff: float = 0.0
    traceparent: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    def encode(self) -> bytes:
        seconds = self.lease_duration
        return _encode(
            {
                **self.extra,
                "holderIdentity": self.holder_identity,
                "leaseDurationSeconds": int(seconds) if seconds == int(seconds) else seconds,
                "acquireTime": self.acquire_time,
                "renewTime": self.renew_time,
                "leaderTransitions": self.leader_transitions,
                "renewal": self.renewal,
                "fenced": self.fenced,
                "preferredHolder": self.preferred_holder,
                "takeover": self.takeover,
                "presenceAddress": self.presence_address,
                "presenceHoldoffSeconds": self.presence_holdoff,
                "traceparent": self.traceparent,
            }
        )

    @classmethod
    @lru_cache(maxsize=SEEN_AT_A_TIME)
    def parse(cls, value: bytes) -> LeaderRecord | None:
        """The record, or None when it can't be trusted to name a holder and a duration. No bytes: nobody holds it."""
        document = _load(value or b"{}")
        if not isinstance(document, dict) or not isinstance(document.get("holderIdentity", ""), str):
            return None
        holder = _text(document, "holderIdentity")
        seconds = _number(document, "leaseDurationSeconds")
        if holder and not seconds > 0:
            return None
        holdoff = _number(document, "presenceHoldoffSeconds")
        return cls(
            holder_identity=holder,
            lease_duration=seconds if seconds > 0 else 1.0,
            acquire_time=_text(document, "acquireTime"),
            renew_time=_text(document, "renewTime"),
            leader_transitions=_count(document, "leaderTransitions"),
            renewal=_text(document, "renewal"),
            fenced=document.get("fenced", True) is True,
            preferred_holder=_text(document, "preferredHolder"),
            takeover=_text(document, "takeover"),
            presence_address=_text(document, "presenceAddress"),
            presence_holdoff=holdoff if holdoff > 0 else 0.0,
            traceparent=_text(document, "traceparent"),
            extra={name: item for name, item in document.items() if name not in _KNOWN},
        )


_KNOWN: Final = frozenset(
    {
        "holderIdentity",
        "leaseDurationSeconds",
        "acquireTime",
        "renewTime",
        "leaderTransitions",
        "renewal",
        "fenced",
        "preferredHolder",
        "takeover",
        "presenceAddress",
        "presenceHoldoffSeconds",
        "traceparent",
    }
)


@dataclass(frozen=True, slots=True)
class TermValue:
    """The term key's value: it fences by its bytes, its mod revision is the token.

    Attributes:
        holder_identity: "" once released.
        acquisition: Unique to the acquire (or the release) that wrote it.
    """

    holder_identity: str
    acquisition: str

    def encode(self) -> bytes:
        return _encode({"holderIdentity": self.holder_identity, "acquisition": self.acquisition})

    @classmethod
    @lru_cache(maxsize=SEEN_AT_A_TIME)
    def parse(cls, value: bytes) -> TermValue | None:
        document = _load(value)
        if not isinstance(document, dict):
            return None
        return cls(_text(document, "holderIdentity"), _text(document, "acquisition"))


def deposed_token(value: bytes) -> int:
    """The token in a candidate's mark: a live leader was deposed by false evidence in that term. 0: there is none."""
    document = _load(value)
    return _count(document, "deposedToken") if isinstance(document, dict) else 0


def refused_writes(value: bytes) -> int:
    """How many of its writes etcd had refused, by the mark of a candidate that ended. 0: none, or there is no mark."""
    document = _load(value)
    return _count(document, "refusedWrites") if isinstance(document, dict) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One term.

    Attributes:
        token: The fencing token, or 0 in the newest entry as stored by its own acquire: a revision can't be written
            by the transaction that makes it. There it is the history key's mod revision.
        since: RFC 3339, display only.
        until: RFC 3339, or "" while the term is not known to have ended.
        reason: Why it ended: `released`, or how the next one took over; "" while it lasts.
        takeover: How it began.
    """

    identity: str
    token: int = 0
    since: str = ""
    until: str = ""
    reason: str = ""
    takeover: str = ""


def encode_history(entries: tuple[HistoryEntry, ...]) -> bytes:
    """The newest `HISTORY_LIMIT` entries, oldest first."""
    return _encode(
        {
            "terms": [
                {
                    "identity": e.identity,
                    "token": e.token,
                    "since": e.since,
                    "until": e.until,
                    "reason": e.reason,
                    "takeover": e.takeover,
                }
                for e in entries[-HISTORY_LIMIT:]
            ]
        }
    )


@lru_cache(maxsize=SEEN_AT_A_TIME)
def parse_history(value: bytes | None, mod_revision: int) -> tuple[HistoryEntry, ...]:
    """The entries, oldest first; the token that an acquire couldn't write is filled in. Unreadable: none."""
    document = _load(value) if value is not None else None
    terms = document.get("terms") if isinstance(document, dict) else None
    entries = tuple(
        HistoryEntry(
            identity=_text(e, "identity")[:TEXT_LIMIT],
            token=_count(e, "token"),
            since=_text(e, "since")[:TEXT_LIMIT],
            until=_text(e, "until")[:TEXT_LIMIT],
            reason=_text(e, "reason")[:TEXT_LIMIT],
            takeover=_text(e, "takeover")[:TEXT_LIMIT],
        )
        for e in (terms if isinstance(terms, list) else [])
        if isinstance(e, dict)
    )
    if entries and entries[-1].token == 0:
        entries = (*entries[:-1], replace(entries[-1], token=mod_revision))
    return entries
