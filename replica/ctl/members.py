"""The replicas of a lock: who leads, who stands by, out of the lock's keys and the candidates' own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lockd.candidate import Candidate
from lockd.record import LeaderRecord, TermValue
from replica.api.times import format_age, parse_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockd.etcd.gateway import Gateway
    from lockd.ports import KeyValue, LockName

LEADER, STANDBY = "Leader", "Standby"

HEADERS: Final = ("Member", "Host", "Role", "State", "Since", "Address", "Version", "Token", "Last renew")


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A replica.

    Attributes:
        state: `running`; `deposed`, once it was and has not left yet; `gone`, for a leader without a candidate key,
            whose record stands until it expires; `unreadable`.
        since: RFC 3339: when it began to stand by.
        token: Its fencing token; None unless it leads.
        presence: Where standbys watch over it while it leads; "" where it has no presence.
        last_renew: RFC 3339, as the leader's clock said; "" unless it leads.
    """

    identity: str
    host: str = ""
    pid: int = 0
    http: str = ""
    presence: str = ""
    role: str = STANDBY
    state: str = "running"
    since: str = ""
    token: int | None = None
    last_renew: str = ""
    version: str = ""

    def document(self) -> dict[str, Any]:
        return {
            "member": self.identity,
            "host": self.host,
            "pid": self.pid,
            "role": self.role,
            "state": self.state,
            "since": self.since,
            "token": self.token,
            "lastRenew": self.last_renew,
            "http": self.http,
            "presence": self.presence,
            "version": self.version,
        }

    def row(self, now: float) -> tuple[str, ...]:
        """Its cells, in the order of `HEADERS`; `now` in seconds since 1970."""
        renewed = parse_time(self.last_renew)
        return (
            self.identity,
            self.host,
            self.role,
            self.state,
            self.since,
            self.http,
            self.version,
            "" if self.token is None else str(self.token),
            "" if renewed is None else f"{format_age(max(0.0, now - renewed))} ago",
        )


@dataclass(frozen=True, slots=True)
class Members:
    """The replicas of one lock as of one revision: the leader first, then by the time they came."""

    lock: LockName
    revision: int
    leader: str
    transitions: int
    members: tuple[Member, ...]

    def document(self) -> dict[str, Any]:
        return {
            "lock": f"{self.lock.namespace}/{self.lock.name}",
            "prefix": self.lock.prefix,
            "revision": self.revision,
            "leader": self.leader,
            "leaderTransitions": self.transitions,
            "members": [member.document() for member in self.members],
        }


def read_members(gateway: Gateway, lock: LockName, *, timeout: float) -> Members:
    """The replicas of a lock.

    Raises:
        StoreError: etcd didn't answer, or refused.
    """
    listing = gateway.list(lock.candidates, timeout=timeout)
    lease = gateway.range(lock.lease, revision=listing.revision, timeout=timeout)
    term = gateway.range(lock.term, revision=listing.revision, timeout=timeout)
    return judge(lock, listing.revision, listing.kvs, _one(lease.kvs), _one(term.kvs))


def judge(
    lock: LockName, revision: int, candidates: Sequence[KeyValue], lease: KeyValue | None, term: KeyValue | None
) -> Members:
    """The replicas that the keys of a lock, all of one revision, tell of."""
    record = LeaderRecord.parse(lease.value) if lease is not None else None
    value = TermValue.parse(term.value) if term is not None else None
    leader = record.holder_identity if record is not None else ""
    token = term.mod_revision if term is not None and value is not None and value.holder_identity == leader else None
    found = {kv.key.removeprefix(lock.candidates): Candidate.parse(kv.value) for kv in candidates}
    members = [_member(identity, candidate) for identity, candidate in found.items() if identity != leader]
    members.sort(key=lambda member: (member.since, member.identity))
    if leader and record is not None:
        own = _member(leader, found[leader]) if leader in found else Member(identity=leader, state="gone")
        first = Member(
            identity=leader,
            host=own.host,
            pid=own.pid,
            http=own.http,
            presence=own.presence or record.presence_address,
            role=LEADER,
            state=own.state,
            since=own.since or record.acquire_time,
            token=token,
            last_renew=record.renew_time,
            version=own.version,
        )
        members.insert(0, first)
    return Members(lock, revision, leader, record.leader_transitions if record is not None else 0, tuple(members))


def _member(identity: str, candidate: Candidate | None) -> Member:
    if candidate is None:
        return Member(identity=identity, state="unreadable")
    return Member(
        identity=identity,
        host=candidate.hostname,
        pid=candidate.pid,
        http=candidate.http,
        presence=candidate.presence,
        state="deposed" if candidate.deposed_token or candidate.refused_writes else "running",
        since=candidate.since,
        version=candidate.version,
    )


def _one(kvs: Sequence[KeyValue]) -> KeyValue | None:
    return kvs[0] if kvs else None
