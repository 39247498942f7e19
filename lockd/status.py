"""What a lock's keys say, for people: who holds it, and who held it before."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from component.durations import format_duration
from lockd.record import LeaderRecord, parse_history

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockd.etcd.gateway import Gateway
    from lockd.ports import KeyValue, LockName

STATUS_HEADERS: Final = ("LOCK", "HOLDER", "TOKEN", "TRANSITIONS", "TAKEOVER", "LEASE", "RENEWED", "STANDBYS")
HISTORY_HEADERS: Final = ("TOKEN", "HOLDER", "SINCE", "UNTIL", "TAKEOVER", "ENDED BY")


@dataclass(frozen=True, slots=True, kw_only=True)
class LockStatus:
    """One lock.

    Attributes:
        holder: "" when nobody holds it, None when the record can't be read.
        token: The fencing token of the term in force; None when there is none.
        standbys: Candidates that don't hold it.
    """

    lock: LockName
    record: LeaderRecord | None
    token: int | None
    revision: int
    standbys: tuple[str, ...]

    @property
    def holder(self) -> str | None:
        return self.record.holder_identity if self.record is not None else None

    def document(self) -> dict[str, Any]:
        record = self.record or LeaderRecord()
        return {
            "lock": f"{self.lock.namespace}/{self.lock.name}",
            "prefix": self.lock.prefix,
            "readable": self.record is not None,
            "holderIdentity": record.holder_identity,
            "fencingToken": self.token,
            "leaseDurationSeconds": record.lease_duration,
            "acquireTime": record.acquire_time,
            "renewTime": record.renew_time,
            "leaderTransitions": record.leader_transitions,
            "takeover": record.takeover,
            "fenced": record.fenced,
            "preferredHolder": record.preferred_holder,
            "modRevision": self.revision,
            "standbys": list(self.standbys),
        }

    def row(self, now: float) -> tuple[str, ...]:
        """Its cells, in the order of `STATUS_HEADERS`; `now` in seconds since 1970."""
        name = f"{self.lock.namespace}/{self.lock.name}"
        if self.record is None:
            return (name, "<unreadable record>", "-", "-", "-", "-", "-", str(len(self.standbys)))
        return (
            name,
            self.record.holder_identity or "<nobody>",
            "-" if self.token is None else str(self.token),
            str(self.record.leader_transitions),
            self.record.takeover or "-",
            format_duration(self.record.lease_duration),
            _ago(self.record.renew_time, now),
            str(len(self.standbys)),
        )


def read_status(gateway: Gateway, lock: LockName, *, timeout: float) -> LockStatus | None:
    """The lock as of one revision; None when it was never held.

    Raises:
        StoreError: etcd didn't answer, or refused.
    """
    listing = gateway.list(lock.candidates, timeout=timeout)
    lease, term = (_one(gateway, key, listing.revision, timeout) for key in (lock.lease, lock.term))
    if lease is None:
        return None
    record = LeaderRecord.parse(lease.value)
    held = record is not None and record.holder_identity
    identities = (kv.key.removeprefix(lock.candidates) for kv in listing.kvs)
    return LockStatus(
        lock=lock,
        record=record,
        token=term.mod_revision if held and term is not None else None,
        revision=lease.mod_revision,
        standbys=tuple(sorted(each for each in identities if not held or each != held)),
    )


def read_history(gateway: Gateway, lock: LockName, *, timeout: float) -> list[dict[str, Any]]:
    """The last terms, oldest first: identity, token, since, until, reason, takeover.

    Raises:
        StoreError: etcd didn't answer, or refused.
    """
    kvs = gateway.range(lock.history, timeout=timeout).kvs
    entries = parse_history(kvs[0].value, kvs[0].mod_revision) if kvs else ()
    return [
        {
            "holderIdentity": entry.identity,
            "fencingToken": entry.token,
            "since": entry.since,
            "until": entry.until,
            "takeover": entry.takeover,
            "endedBy": entry.reason,
        }
        for entry in entries
    ]


def history_rows(terms: Sequence[dict[str, Any]]) -> list[tuple[str, ...]]:
    """Their cells, in the order of `HISTORY_HEADERS`."""
    return [
        (
            str(term["fencingToken"]),
            term["holderIdentity"],
            term["since"],
            term["until"] or "-",
            term["takeover"],
            term["endedBy"] or "-",
        )
        for term in terms
    ]


def _one(gateway: Gateway, key: str, revision: int, timeout: float) -> KeyValue | None:
    kvs = gateway.range(key, revision=revision, timeout=timeout).kvs
    return kvs[0] if kvs else None


def _ago(time: str, now: float) -> str:
    try:
        seconds = now - datetime.fromisoformat(time).timestamp()
    except ValueError:
        return "-"
    return f"{max(0, round(seconds))}s ago"
