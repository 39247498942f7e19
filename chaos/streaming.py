"""Nodes, and pods that come one after the other: what a cluster that people look at is kept busy with."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final

from chaos.workload import create
from chaos.workloads import making
from component import logs
from lockd.errors import HistoryLost, PermissionDenied, StoreError
from lockd.etcd.retry import settle
from lockd.ports import Compare, Delete, Field, Txn
from replica.api.codec import Undecodable, decode_pod
from replica.api.drafts import Draft
from replica.api.keys import kind_prefix
from replica.api.kinds import POD

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

    from component.clock import Clock
    from lockd.etcd.gateway import Gateway
    from lockd.ports import KeyValue

ATTEMPT: Final = 1.0
WITHIN: Final = 15.0
"""Seconds before the next copy of a delete goes to another member, and seconds for all of them."""

PAUSE: Final = 1.0
"""Seconds after a write that etcd did not take."""

CHUNK: Final = 50
"""Pods between two looks at how many there are, and deleted by one transaction."""

_log = logs.get("chaos.streaming")


class Stream:
    """Creates nodes, then pods without end, and deletes the oldest bound ones. An etcd that is away is waited for.

    Args:
        name: Part of the pods' names: a stream that begins anew doesn't find those of the one before.
        rate: Pods in a second, at most.
        keep: Bound pods that stay.
    """

    def __init__(
        self, gateway: Gateway, prefix: str, *, name: str, nodes: int, rate: float, keep: int, clock: Clock
    ) -> None:
        self._gateway = gateway
        self._prefix = prefix
        self._name = name
        self._nodes = making.nodes(nodes)
        self._rate = rate
        self._keep = keep
        self._clock = clock
        self._away = False

    def run(self, stop: threading.Event) -> None:
        """Go on until asked to stop.

        Raises:
            HistoryLost, PermissionDenied: It would be in vain.
        """
        self._persist(lambda: create(self._gateway, self._prefix, self._nodes, clock=self._clock, stop=stop), stop)
        _log.info("nodes are there, pods begin to come", nodes=len(self._nodes), rate=self._rate)
        pods = self._pods()
        for number in count(1):
            pod = [next(pods)]
            self._persist(lambda: create(self._gateway, self._prefix, pod, clock=self._clock, stop=stop), stop)  # noqa: B023 - it is called at once
            if number % CHUNK == 0:
                self._persist(lambda: self._tidy(stop), stop)
            if self._clock.wait(stop, 1.0 / self._rate):
                return

    def _pods(self) -> Iterator[Draft]:
        for draft in making.pods():
            name = f"{draft.name}-{self._name}"
            metadata = {**draft.document["metadata"], "name": name}
            yield Draft(POD, draft.namespace, name, {**draft.document, "metadata": metadata})

    def _tidy(self, stop: threading.Event) -> None:
        """Delete the oldest of the bound pods; one that was written meanwhile stays, and goes the next time."""
        listing = self._gateway.list(f"{kind_prefix(self._prefix, POD)}{making.NAMESPACE}/", timeout=WITHIN)
        bound = sorted(filter(_bound, listing.kvs), key=lambda kv: kv.create_revision)
        old = bound[: max(0, len(bound) - self._keep)]
        for first in range(0, len(old), CHUNK):
            chunk = old[first : first + CHUNK]
            ops = tuple(Txn((Compare(kv.key, Field.MOD, kv.mod_revision),), (Delete(kv.key),)) for kv in chunk)
            settle(self._gateway, Txn((), ops), clock=self._clock, stop=stop, attempt=ATTEMPT, within=WITHIN)

    def _persist(self, step: Callable[[], None], stop: threading.Event) -> None:
        """Take a step until etcd lets it be taken. Each can be taken again: names are unique, deletes are compared."""
        while not stop.is_set():
            try:
                step()
            except (HistoryLost, PermissionDenied):
                raise
            except StoreError as error:
                self._tell(error)
                self._clock.wait(stop, PAUSE)
            else:
                self._tell(None)
                return

    def _tell(self, problem: StoreError | None) -> None:
        """Once when it begins and once when it ends."""
        if problem is not None and not self._away:
            _log.warning("etcd takes no pods", problem=str(problem))
        elif problem is None and self._away:
            _log.info("etcd takes pods again")
        self._away = problem is not None


def _bound(kv: KeyValue) -> bool:
    try:
        return bool(decode_pod(kv).node)
    except Undecodable:
        return False
