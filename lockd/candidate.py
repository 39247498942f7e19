"""A candidate's key: who stands by or leads, for people and for hold-offs. It decides nothing else."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Final

from component import logs
from lockd.errors import LeaseNotFound, StoreError
from lockd.ports import Compare, Field, Put, Txn
from lockd.record import parse_history

if TYPE_CHECKING:
    import threading

    from component.clock import Clock
    from lockd.etcd.gateway import Gateway
    from lockd.ports import LockName

_log = logs.get("lockd.candidate")

KEEPALIVES_PER_LEASE = 3
_COUNTS: Final = {"deposed_token": "deposedToken", "refused_writes": "refusedWrites"}
"""The marks, by their names in the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What the key tells. `since` is RFC 3339; `http` and `presence` are `host:port` or ""."""

    identity: str
    hostname: str = ""
    pid: int = 0
    since: str = ""
    http: str = ""
    presence: str = ""
    version: str = ""
    deposed_token: int = 0
    refused_writes: int = 0

    def encode(self) -> bytes:
        document = asdict(self)
        for name, key in _COUNTS.items():
            document[key] = document.pop(name)
        return json.dumps(document, separators=(",", ":")).encode()

    @classmethod
    def parse(cls, value: bytes) -> Candidate | None:
        """The candidate, or None when the value can't be read. Fields of the wrong type are left at their default."""
        try:
            document = json.loads(value)
        except (ValueError, RecursionError):
            return None
        if not isinstance(document, dict) or not isinstance(document.get("identity"), str):
            return None
        document |= {name: document.get(key, 0) for name, key in _COUNTS.items()}
        known = {
            field.name: document[field.name]
            for field in fields(cls)
            if type(document.get(field.name)) is (int if field.name in ("pid", *_COUNTS) else str)
        }
        return cls(**known)


class Registration:
    """Keeps a candidate's key there as long as the process lives, on an etcd lease of one lease duration.

    Args:
        lease_duration: Seconds; etcd's lease gets them rounded up.
    """

    def __init__(
        self, gateway: Gateway, lock: LockName, candidate: Candidate, *, lease_duration: float, clock: Clock
    ) -> None:
        self._gateway = gateway
        self._key = lock.candidates + candidate.identity
        self._history = lock.history
        self._candidate = candidate
        self._ttl = max(1, math.ceil(lease_duration))
        self._clock = clock
        self._lease = 0

    def run(self, stop: threading.Event) -> None:
        """Register, keep alive, and register again whenever the etcd lease is gone, until `stop` is set."""
        period = self._ttl / KEEPALIVES_PER_LEASE
        failing = False
        while not stop.is_set():
            try:
                self._beat(period)
                failing = False
            except StoreError as error:
                if not (failing or stop.is_set()):  # what is cut short by the end says nothing about etcd
                    _log.warning("candidate key not kept", key=self._key, error=str(error))
                failing = True
            self._clock.wait(stop, period)

    def _beat(self, timeout: float) -> None:
        """Keep the etcd lease, or take another; put the key with it, again if a person deleted it."""
        fresh = not self._lease or self._gateway.lease_keepalive(self._lease, timeout=timeout) == 0
        if fresh:
            self._lease = self._gateway.lease_grant(self._ttl, timeout=timeout)
        put = Put(self._key, self._candidate.encode(), self._lease)
        # Nobody else writes this key, and what it says is the same each time: that settles it without more ado.
        compares = () if fresh else (Compare(self._key, Field.CREATE, 0),)
        try:
            self._gateway.txn(Txn(compares, (put,)), timeout=timeout)
        except LeaseNotFound:
            self._lease = 0

    def mark(self, token: int, *, refused: int, timeout: float) -> bool:
        """Tell by the key how the term of this live process ended, where that is worth telling.

        If evidence ended it, its successors then hold off. Whoever is really dead can't tell, and whoever is cut off
        can't either: then the takeover was right. If etcd refused writes of it, the others count them: nobody reads the
        metrics of a process that ends.

        Args:
            token: Of its term.
            refused: How many of its writes were refused.
            timeout: Seconds for each of four calls at most.

        Returns:
            Is the mark there? The key then has to stay until its etcd lease runs out.
        """
        try:
            kvs = self._gateway.range(self._history, timeout=timeout).kvs
            terms = parse_history(kvs[0].value, kvs[0].mod_revision) if kvs else ()
            deposed = any((term.token, term.reason) == (token, "evidence") for term in terms)
            if not deposed and not refused:
                return False
            self._candidate = replace(self._candidate, deposed_token=token if deposed else 0, refused_writes=refused)
            self._put_mark(timeout)
        except StoreError as error:
            _log.info("deposed, and no mark left", key=self._key, error=str(error))
            return False
        _log.info("deposed while alive: mark left", key=self._key, token=token, evidence=deposed, refused=refused)
        return True

    def _put_mark(self, timeout: float) -> None:
        """Put the key; on another etcd lease if its own has run out, as that of a process that stood still has."""
        try:
            self._gateway.txn(Txn((), (Put(self._key, self._candidate.encode(), self._lease),)), timeout=timeout)
        except LeaseNotFound:
            self._lease = self._gateway.lease_grant(self._ttl, timeout=timeout)
            self._gateway.txn(Txn((), (Put(self._key, self._candidate.encode(), self._lease),)), timeout=timeout)

    def revoke(self, *, timeout: float) -> None:
        """Take the key away at an orderly exit; without it, it goes when its etcd lease runs out."""
        if self._lease:
            try:
                self._gateway.lease_revoke(self._lease, timeout=timeout)
            except StoreError as error:
                _log.info("candidate key left to expire", key=self._key, error=str(error))
