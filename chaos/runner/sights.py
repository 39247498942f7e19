"""What changes under a prefix mean to whoever waits for something to happen. Pure, but for the signals it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lockd.ports import KeyValue
from lockd.record import LeaderRecord, TermValue
from replica.api.codec import Undecodable, decode_pod

if TYPE_CHECKING:
    from chaos.runner.signals import Signals
    from lockd.etcd.model import WatchEvent


class Sights:
    """Follows one lock, and the pods. Owned by one thread; the old leader may be asked for by others.

    Args:
        lock: `<namespace>/<name>`.

    Attributes:
        leader: The identity of the holder of the term; "" for nobody.
        old_leader: That of the leader before the one that leads, or that led last; "" for none.
    """

    def __init__(self, lock: str, signals: Signals) -> None:
        self.leader = ""
        self.old_leader = ""
        self._signals = signals
        self._lease, self._term = f"leases/{lock}", f"terms/{lock}"
        self._latest = ""
        self._flying: set[str] = set()

    def saw(self, key: str, event: WatchEvent) -> None:
        """One change, in etcd's order; the key is without the prefix."""
        if key == self._term:
            self._saw_term(event)
        elif key == self._lease:
            self._saw_lease(event)
        elif key.startswith("pods/"):
            self._saw_pod(key, event)

    def _saw_term(self, event: WatchEvent) -> None:
        value = TermValue.parse(event.value) if event.value is not None else None
        holder = value.holder_identity if value is not None else ""
        if holder:
            if self._latest and self._latest != holder:
                self.old_leader = self._latest
            self._latest = holder
            self._signals.happened("leader-acquired")
        elif self.leader:
            self._signals.happened("leader-released")
        self.leader = holder
        self._signals.hold("leader", holds=bool(holder))
        self._signals.hold("no-leader", holds=not holder)

    def _saw_lease(self, event: WatchEvent) -> None:
        """A renewal is put without its term; what begins one comes before it, and names another holder."""
        record = LeaderRecord.parse(event.value) if event.value is not None else None
        if record is not None and self.leader and record.holder_identity == self.leader:
            self._signals.happened("renewal")

    def _saw_pod(self, key: str, event: WatchEvent) -> None:
        node = self._node(event)
        if event.value is None or node:
            if key in self._flying:
                self._flying.discard(key)
                if node:
                    self._signals.happened("bind")
        elif event.version == 1:
            self._flying.add(key)
            self._signals.happened("pod-created")
        self._signals.hold("bind-in-flight", holds=bool(self._flying))

    @staticmethod
    def _node(event: WatchEvent) -> str:
        if event.value is None:
            return ""
        try:
            return decode_pod(KeyValue(event.key, event.value, event.mod_revision, event.create_revision)).node
        except Undecodable:
            return ""
