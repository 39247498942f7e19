"""Notices that etcd is no longer the one this process knows: restored, wiped or exchanged.

Within one history a linearizable reply never shows a revision below one that had been seen when its request was
sent. Replies of parallel requests may arrive in any order, so it is the moment of sending that counts.
"""

from __future__ import annotations

import threading

from lockd.errors import HistoryLost


class Witness:
    """What one process has seen of etcd's history. Thread-safe; shared by all its gateways."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cluster = 0
        self._revision = 0
        self._lost = ""

    @property
    def revision(self) -> int:
        """The highest revision that a linearizable reply, or an event of a watch, has shown."""
        with self._lock:
            return self._revision

    @property
    def cluster(self) -> int:
        """The cluster's id; 0 before the first reply."""
        with self._lock:
            return self._cluster

    def sending(self) -> int:
        """To be called before a request is sent; its reply is judged against the result."""
        return self.revision

    def judge(self, cluster: int, revision: int, *, floor: int, endpoint: str = "") -> None:
        """Judge a linearizable reply.

        Args:
            cluster: Its header's cluster id.
            revision: Its header's revision.
            floor: What `sending` gave before the request was sent.
            endpoint: The member that replied.

        Raises:
            HistoryLost: Now, and for each reply from then on.
        """
        with self._lock:
            self._know(cluster, endpoint)
            if revision < floor and not self._lost:
                self._lost = f"etcd at {endpoint} went back from revision {floor} to {revision}: it was restored"
            self._revision = max(self._revision, revision)
            self._tell(endpoint)

    def recognize(self, cluster: int, *, seen: int = 0, endpoint: str = "") -> None:
        """Judge the cluster id alone: of a watch, or of a reply that is not linearizable.

        Args:
            seen: The highest revision of the events that came with it. They are committed, so that a linearizable
                reply to a later request shows no less: often it is a watch alone that has told of the newest history.

        Raises:
            HistoryLost: It is another cluster, or history was lost before.
        """
        with self._lock:
            self._know(cluster, endpoint)
            self._tell(endpoint)
            self._revision = max(self._revision, seen)

    def _know(self, cluster: int, endpoint: str) -> None:
        if not cluster:
            return
        self._cluster = self._cluster or cluster
        if cluster != self._cluster and not self._lost:
            self._lost = f"etcd at {endpoint} is cluster {cluster:x}, not {self._cluster:x} as before"

    def _tell(self, endpoint: str) -> None:
        if self._lost:
            raise HistoryLost(self._lost, endpoint=endpoint)
