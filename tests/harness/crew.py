"""A crew: the replicas of one lock, an auditing watch on it, and whoever creates objects."""

from __future__ import annotations

import threading
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from chaos import workload
from chaos.auditor import Auditor
from chaos.checks import judge
from chaos.ledger import Ledger
from chaos.pods import lives
from chaos.record import Record
from chaos.report import Report
from lockd.etcd.gateway import Gateway
from lockd.etcd.retry import settle
from lockd.etcd.witness import Witness
from lockd.ports import Compare, Field, LockName, Put, Txn
from lockd.record import LeaderRecord, display_time
from replica.api.codec import decode, status_of
from replica.api.keys import object_key
from replica.api.kinds import EVENT, POD
from replica.api.manifests import parse_manifests
from tests.harness.replicas import CLOCK, FAST, Inside, Running, configured
from tests.harness.wait import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from chaos.history import Change
    from chaos.record import Action
    from lockd.etcd.connection import Connection
    from replica.api.drafts import Draft
    from replica.app.serving import Serving
    from tests.harness.replicas import Timing

NEVER = threading.Event()

CHUNK = 100
"""Objects created by one transaction; etcd takes 128 operations."""


class Crew:
    """Replicas on one etcd, under one prefix.

    Attributes:
        timing: Of the replicas that join from now on.
    """

    def __init__(self, connection: Connection, prefix: str, folder: Path, gateway: Gateway, auditor: Auditor) -> None:
        self.connection = connection
        self.lock = LockName(prefix, "kube-system", "kube-scheduler")
        self.gateway = gateway
        self.auditor = auditor
        self.timing: Timing = FAST
        self.replicas: list[Running | Inside] = []
        self._folder = folder

    @property
    def prefix(self) -> str:
        return self.lock.prefix

    def start(self, identity: str, *flags: str, connection: Connection | None = None, launcher: str = "") -> Running:
        """Start a replica as a process.

        Args:
            connection: Its own way to etcd, such as through proxies.
            launcher: A program of tests/launchers to start instead of `replica`.
        """
        endpoints = ",".join((connection or self.connection).endpoints)
        words = (f"--endpoints={endpoints}", f"--prefix={self.prefix}", *self.timing.flags, *flags)
        started = Running(identity, self._folder, words, launcher=launcher)
        self.replicas.append(started)
        return started

    def join(self, identity: str, *, connection: Connection | None = None, serving: Serving | None = None) -> Inside:
        """Run a replica in this process."""
        more = (serving,) if serving is not None else ()
        started = Inside(configured(identity, connection or self.connection, self.lock, self.timing, *more))
        self.replicas.append(started)
        return started

    def until_leads(self, replica: Running | Inside, *, within: float = 20.0) -> None:
        eventually(lambda: self._lives(replica) and replica.leads, within=within, what=f"{replica.identity} leads")

    def until_ready(self, *replicas: Running | Inside, within: float = 30.0) -> None:
        """Wait until these stand by (or lead) with synced caches."""
        for replica in replicas:
            eventually(
                lambda it=replica: self._lives(it) and it.stands_by and it.ready,
                within=within,
                what=f"{replica.identity} is ready",
            )

    @staticmethod
    def _lives(replica: Running | Inside) -> bool:
        assert replica.alive, f"{replica.identity} has ended; it said:\n{replica.last_words()}"
        return True

    # --- objects

    def create(self, drafts: tuple[Draft, ...]) -> None:
        """Create objects that aren't there yet."""
        create(self.gateway, self.prefix, drafts)

    def placement(self) -> dict[str, str]:
        """The node of each pod (`namespace/name`), "" for none."""
        return workload.placement(self.gateway, self.prefix)

    def bound(self) -> int:
        return sum(map(bool, self.placement().values()))

    def until_bound(self, count: int, *, within: float = 30.0) -> None:
        """Wait until so many pods have a node."""
        eventually(lambda: self.bound() >= count, within=within, what=f"{count} pods are bound")

    def until_refused(self, name: str, *, within: float = 20.0) -> None:
        """Wait until a pod of the default namespace was told that it has no place."""
        key = object_key(self.prefix, POD, name, "default")

        def refused() -> bool:
            told = status_of(self.gateway.range(key, timeout=5.0).kvs[0].value).scheduled
            return told is not None and told.status == "False"

        eventually(refused, within=within, what=f"{name} is told that it has no place")

    def events(self, reason: str) -> list[str]:
        """The names of the objects that events of this reason are about, once for each event."""
        listing = self.gateway.list(f"{self.prefix}/events/", timeout=5.0)
        found = [decode(EVENT, kv) for kv in listing.kvs]
        return sorted(event.regarding.name for event in found if event.reason == reason)

    # --- the lock

    def record(self) -> LeaderRecord | None:
        found = self.gateway.range(self.lock.lease, timeout=5.0).kvs
        return LeaderRecord.parse(found[0].value) if found else None

    def holder(self) -> str:
        """The identity in the election record, "" for none."""
        record = self.record()
        return record.holder_identity if record is not None else ""

    # --- history

    def ledger(self) -> Ledger:
        return Ledger.of(self.auditor.history(within=30.0))

    def changes(self, key: str) -> list[Change]:
        """What became of one key, in order."""
        name = key.removeprefix(f"{self.prefix}/")
        return [change for change in self.auditor.history(within=30.0).changes if change.key == name]

    def last_renewal(self, identity: str) -> float:
        """When the last record of that holder was seen to be committed: the first copy was sent before."""
        records = [(LeaderRecord.parse(each.value or b""), each.revision) for each in self.changes(self.lock.lease)]
        revision = [revision for record, revision in records if record and record.holder_identity == identity][-1]
        stamp = self.auditor.stamp(revision)
        assert stamp is not None
        return stamp.now

    def report(self, *, faults: Sequence[Action] = ()) -> dict[str, Any]:
        """The audit's document, of the settled cluster.

        Args:
            faults: Done by the test, which excuse what would otherwise be wrong.
        """
        ledger = self.ledger()
        return Report.of(ledger, judge(Record(ledger=ledger, actions=tuple(faults)))).document()

    def authors(self) -> dict[str, str]:
        """Who bound each pod (`namespace/name`), as the identity of the term; those without a node are left out."""
        ledger = self.ledger()
        return {
            life.key.removeprefix("pods/"): ledger.terms.by_token[life.placements[-1].token].identity
            for life in lives(ledger)
            if life.placements
        }

    def assert_sound(self, *, bound: int, pending: int = 0, faults: Sequence[Action] = ()) -> dict[str, Any]:
        """Every pod got one node, once, from the leader of the time; none is lost; no node has too many."""
        report = self.report(faults=faults)
        assert report["violations"] == [], report["violations"]
        assert not report["incomplete"]
        pods = report["pods"]
        assert (pods["bound"], pods["pending"], pods["lost"], pods["double_bound"]) == (bound, pending, 0, 0)
        assert report["nodes"]["overcommitted"] == 0
        return report

    def close(self) -> None:
        for replica in self.replicas:
            replica.end()


def create(gateway: Gateway, prefix: str, drafts: tuple[Draft, ...]) -> None:
    """Create objects that aren't there yet, as a user's tool would, a hundred in one transaction."""
    at = display_time(CLOCK.wall())
    for first in range(0, len(drafts), CHUNK):
        puts = tuple(
            Put(
                object_key(prefix, draft.kind, draft.name, draft.namespace),
                draft.created(uid=str(uuid.uuid4()), at=at),
            )
            for draft in drafts[first : first + CHUNK]
        )
        absent = tuple(Compare(put.key, Field.MOD, 0) for put in puts)
        settle(gateway, Txn(absent, puts), clock=CLOCK, stop=NEVER, attempt=1.0, within=15.0)


@contextmanager
def crew(connection: Connection, prefix: str, folder: Path) -> Iterator[Crew]:
    """A crew, all of which is gone in the end."""
    gateway = Gateway(connection, purpose="test", witness=Witness(), first=0)
    try:
        with Auditor(gateway, prefix, clock=CLOCK) as auditor:
            made = Crew(connection, prefix, folder, gateway, auditor)
            try:
                yield made
            finally:
                made.close()
    finally:
        gateway.close()


def pod(name: str, *, cpu: str = "100m", **spec: Any) -> tuple[Draft, ...]:
    """One pod, for `Crew.create`.

    Args:
        spec: Further fields of its spec.
    """
    container = {"name": "main", "image": "app", "resources": {"requests": {"cpu": cpu}}}
    document = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [container], **spec},
    }
    return parse_manifests(msgspec.json.encode(document), "test")
