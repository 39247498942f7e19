"""Clients that create pods at a pace and wait until each has a node."""

from __future__ import annotations

import threading
import uuid
from itertools import islice
from typing import TYPE_CHECKING, Final

from chaos.errors import WorkloadFailed
from chaos.record import Operation
from chaos.workloads.making import NAMESPACE
from chaos.workloads.waiting import Waiting
from component.lifecycle import Group
from lockd.errors import HistoryLost, PermissionDenied, StoreError
from lockd.etcd.model import WatchBatch, WatchCompacted, WatchTarget
from lockd.etcd.retry import settle
from lockd.ports import Compare, Delete, Field, Get, GetReply, KeyValue, Put, Txn
from lockd.record import display_time
from replica.api.codec import Undecodable, decode_pod, status_of
from replica.api.keys import kind_prefix, object_key
from replica.api.kinds import NODE, POD

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chaos.cluster.interface import Target
    from chaos.workloads.pace import Pace
    from chaos.workloads.waiting import Silence
    from component.clock import Clock
    from lockd.etcd.gateway import Gateway
    from lockd.etcd.watch import Watch
    from lockd.ports import TxnReply
    from replica.api.drafts import Draft

ATTEMPT: Final = 1.0
WITHIN: Final = 15.0
"""Seconds before the next copy of a write goes to another member, and seconds for all of them."""

CHUNK: Final = 50
"""Pods created or deleted by one transaction: each is a comparison and an operation, of which etcd takes 128."""

PAUSE: Final = 0.2
"""Seconds after a failed write."""

ENDING: Final = 20.0
"""Seconds that its threads may take to end."""


class PodWorkload:
    """A `chaos.workloads.interface.Workload`.

    An answer is a node, or the scheduler's word that none takes the pod. A pod is asked for from the moment before its
    first create is sent, so an etcd that takes no writes is a gap as well.

    Args:
        gateway: To the members directly; its own, so that a watch of ours delays nobody's.
        nodes: Created first.
        pods: Without end.
    """

    def __init__(
        self,
        gateway: Gateway,
        prefix: str,
        *,
        nodes: Sequence[Draft],
        pods: Iterator[Draft],
        pace: Pace,
        clock: Clock,
    ) -> None:
        self._gateway = gateway
        self._prefix = prefix
        self._nodes = nodes
        self._pods = pods
        self._pace = pace
        self._clock = clock
        self._group = Group("workload", clock=clock)
        self._waiting = Waiting()
        self._lock = threading.Lock()
        self._operations: list[Operation] = []
        self._watch: Watch | None = None
        self._compacted = threading.Event()
        self._finished = threading.Event()
        self._creator: threading.Thread | None = None

    @property
    def _target(self) -> str:
        return f"{kind_prefix(self._prefix, POD)}{NAMESPACE}/"

    def start(self) -> None:
        for first in range(0, len(self._nodes), CHUNK):
            self._create(self._nodes[first : first + CHUNK])
        begin = self._gateway.range(self._target, prefix=True, limit=1, timeout=WITHIN).revision + 1
        target = WatchTarget(self._target, prefix=True, start_revision=begin)
        self._watch = self._gateway.watch([target], self._sink, group=self._group)
        self._creator = self._group.spawn("create", self._run)
        self._group.spawn("relist", self._relist)

    def problem(self, before: float) -> str | None:
        if (failure := self._group.failure) is not None:
            raise WorkloadFailed(f"the workload has failed: {failure}") from failure
        waiting = self._waiting.expected(before)
        return f"{waiting} pods wait for a node" if waiting else None

    def longest(self, since: float, until: float) -> Silence | None:
        return self._waiting.longest(since, until)

    def operations(self) -> tuple[Operation, ...]:
        with self._lock:
            return tuple(self._operations)

    def contenders(self) -> tuple[Target, ...]:
        return ()

    def holders(self) -> tuple[Target, ...]:
        return ()

    def tidy(self) -> None:
        listing = self._gateway.list(self._target, timeout=WITHIN)
        bound = [kv for kv in listing.kvs if _answer(kv) == "node"]
        for first in range(0, len(bound), CHUNK):
            chunk = bound[first : first + CHUNK]
            # Each by itself, in one transaction: one that was written meanwhile stays, and goes the next time.
            ops = tuple(Txn((Compare(kv.key, Field.MOD, kv.mod_revision),), (Delete(kv.key),)) for kv in chunk)
            self._settle(Txn((), ops))

    def clear(self) -> None:
        nodes = [object_key(self._prefix, NODE, draft.name) for draft in self._nodes]
        there = [kv for key in nodes for kv in self._gateway.range(key, timeout=WITHIN).kvs]
        there += self._gateway.list(self._target, timeout=WITHIN).kvs
        ours = [kv for kv in there if _made(kv, self._prefix)]
        for first in range(0, len(ours), CHUNK):
            chunk = ours[first : first + CHUNK]
            ops = tuple(Txn((Compare(kv.key, Field.MOD, kv.mod_revision),), (Delete(kv.key),)) for kv in chunk)
            settle(
                self._gateway,
                Txn((), ops),
                clock=self._clock,
                stop=threading.Event(),  # ours may be set
                attempt=ATTEMPT,
                within=WITHIN,
            )

    def finish(self) -> None:
        self._finished.set()
        if self._creator is not None:
            self._creator.join(WITHIN)

    def stop(self) -> None:
        self._finished.set()
        self._group.request_stop()
        if self._watch is not None:
            self._watch.cancel()
        self._group.join(ENDING)

    # --- the thread that creates

    def _run(self) -> None:
        began = self._clock.now()
        for offset, count in self._pace.arrivals():
            while (left := began + offset - self._clock.now()) > 0:
                if self._clock.wait(self._finished, left):
                    return
            if self._finished.is_set():
                return
            drafts = list(islice(self._pods, count))
            for first in range(0, count, CHUNK):
                self._ask(drafts[first : first + CHUNK])

    def _ask(self, drafts: Sequence[Draft]) -> None:
        """Create pods, again and again until they are there: that is what a user's controller does."""
        sent = self._now
        self._waiting.asked((object_key(self._prefix, POD, each.name, each.namespace) for each in drafts), sent)
        revision = None
        try:
            while revision is None and not self._finished.is_set():
                try:
                    revision = self._create(drafts)
                except (HistoryLost, PermissionDenied):
                    raise
                except StoreError:
                    self._clock.wait(self._finished, PAUSE)
        finally:
            self._note(drafts, sent, revision)

    def _create(self, drafts: Sequence[Draft]) -> int:
        """Create objects; the revision at which they were, though that may have been an earlier attempt's."""
        at = display_time(self._clock.wall())
        values = {
            object_key(self._prefix, draft.kind, draft.name, draft.namespace): draft.created(uid=_uid(draft), at=at)
            for draft in drafts
        }
        compares = tuple(Compare(key, Field.MOD, 0) for key in values)
        puts = tuple(Put(key, value) for key, value in values.items())
        reply = self._settle(Txn(compares, puts, (Get(next(iter(values))),)))
        if reply.succeeded:
            return reply.revision
        found = reply.replies[0]
        return found.kv.create_revision if isinstance(found, GetReply) and found.kv is not None else reply.revision

    def _note(self, drafts: Sequence[Draft], sent: float, revision: int | None) -> None:
        others = len(drafts) - 1
        operation = Operation(
            client="workload",
            what=f"create pods/{drafts[0].name}{f' and {others} more' if others else ''}",
            sent=sent,
            replied=self._now if revision is not None else None,
            outcome="applied" if revision is not None else "unknown",
            revision=revision,
            mark=_uid(drafts[0]),
        )
        with self._lock:
            self._operations.append(operation)

    def _settle(self, txn: Txn) -> TxnReply:
        stop = self._group.stop  # one that has begun is settled, though no more are to come
        return settle(self._gateway, txn, clock=self._clock, stop=stop, attempt=ATTEMPT, within=WITHIN)

    @property
    def _now(self) -> float:
        return self._clock.now()

    # --- the watch's thread

    def _sink(self, item: object) -> None:
        if isinstance(item, WatchCompacted):
            self._compacted.set()
        if not isinstance(item, WatchBatch):
            return
        at = self._now
        for event in item.events:
            if event.value is not None:
                self._saw(KeyValue(event.key, event.value, event.mod_revision, event.create_revision), at)

    def _saw(self, kv: KeyValue, at: float) -> None:
        if _answer(kv):
            self._waiting.acknowledged(kv.key, at)

    def _relist(self) -> None:
        while not self._clock.wait(self._group.stop, PAUSE):
            self._begin_again()

    def _begin_again(self) -> None:
        """After a compaction that overtook the watch: look at what there is, and follow from there."""
        if not self._compacted.is_set() or self._watch is None:
            return
        try:
            listing = self._gateway.list(self._target, timeout=WITHIN)
        except StoreError:
            return
        self._compacted.clear()
        at = self._now
        for kv in listing.kvs:
            self._saw(kv, at)
        self._watch.follow(WatchTarget(self._target, prefix=True, start_revision=listing.revision + 1))


def _answer(kv: KeyValue) -> str:
    """What a pod was answered: `node`, `refused` (no node takes it, and it was told why), or ""."""
    try:
        if decode_pod(kv).node:
            return "node"
    except Undecodable:
        return ""  # the checks tell
    told = status_of(kv.value).scheduled
    return "refused" if told is not None and told.status == "False" else ""


def _made(kv: KeyValue, prefix: str) -> bool:
    """Is it an object of a workload, by its uid? What has such a name by chance is somebody else's."""
    return _uid_of(kv.key[len(prefix) + 1 :]).encode() in kv.value


def _uid(draft: Draft) -> str:
    """Of an object: the same for each attempt to create it."""
    return _uid_of(object_key("", draft.kind, draft.name, draft.namespace)[1:])


def _uid_of(key: str) -> str:
    """Of the object at a key, without its prefix."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, key))
