"""A scheduler with everything it stands on but etcd, which is in memory."""

from __future__ import annotations

import json
import random
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from component.clock import SystemClock
from component.lifecycle import Group
from lockd.etcd.retry import settle
from lockd.ports import LockName
from replica.api import codec
from replica.api.keys import object_key
from replica.api.kinds import DISRUPTION_BUDGET, EVENT, NAMESPACE, NODE, POD_GROUP, PRIORITY_CLASS
from replica.api.priority import Classes
from replica.assume import AssumedPods
from replica.cache.informers import Informers
from replica.cache.members import Members
from replica.cache.node_table import NodeTable
from replica.events.broadcaster import Broadcaster
from replica.events.leases import EventLeases
from replica.events.recorder import Recorder
from replica.events.sink import EventSink
from replica.framework.extenders import Extenders
from replica.framework.interface import Handle
from replica.framework.waiting import WaitingPods
from replica.handlers import Movers, NamespaceHandler, NodeHandler, PodGroupHandler, PodHandler
from replica.parts import Parts, Settings
from replica.preemption.book import BudgetBook, BudgetWatch
from replica.preemption.classes import ClassWatch
from replica.queue.hints import Hints
from replica.queue.scheduling import SchedulingQueue
from replica.scheduler import Scheduler
from tests.harness import term
from tests.harness.fake_etcd import FakeEtcd
from tests.harness.flaky import FlakySender
from tests.harness.framework import runtime_of
from tests.harness.objects import node_value, pod_value
from tests.harness.wait import eventually

if TYPE_CHECKING:
    from replica.api.events import Event

WITHIN = 20.0


class World:
    """Start it with `with`; `lead` begins a term, `end` ends it.

    Attributes:
        failure: What the work raised.
    """

    def __init__(
        self,
        *plugins: Any,
        settings: Settings | None = None,
        backoff: float = 0.02,
        extenders: Extenders | None = None,
    ) -> None:
        self.clock = SystemClock()
        self.etcd = FakeEtcd()
        self.sender = FlakySender(self.etcd)
        self.group = Group("world", clock=self.clock)
        self.informers = Informers(self.etcd, term.PREFIX, group=self.group, clock=self.clock)
        self.table = NodeTable()
        self.assumed = AssumedPods(self.table)
        self.waiting = WaitingPods()
        listers = {kind.kind: self.informers.informer(kind).lister for kind in (POD_GROUP, NAMESPACE)}
        self.members = Members()
        self.classes = Classes()
        self.budgets = BudgetBook(lambda namespace: self.informers.pods.lister.namespaced(namespace).list())
        handle = Handle(
            self.clock,
            random.Random(1),  # noqa: S311  # repeatable, no secret
            self.waiting,
            listers=listers,
            members=self.members,
            classes=self.classes,
            budgets=self.budgets,
        )
        self.runtime = runtime_of(*plugins, with_handle=handle, extenders=extenders)
        self.queue = SchedulingQueue(
            clock=self.clock,
            order=self.runtime.sort_key,
            hints=Hints.of(self.runtime.registrations()),
            gate=self.runtime.gated_by,
            priority=handle.priority,
            nominator=handle.nominator,
            initial_backoff=backoff,
            maximum_backoff=10 * backoff,
        )
        profiles = {self.runtime.scheduler_name: self.runtime}
        movers = Movers(self.queue, self.members, profiles)
        self.informers.informer(POD_GROUP).add_handler(PodGroupHandler(movers), name="scheduler", barrier=True)
        handler = PodHandler(self.queue, self.assumed, self.waiting, profiles, movers, budgets=self.budgets)
        self.informers.pods.add_handler(handler, name="scheduler", barrier=True)
        self.informers.informer(NAMESPACE).add_handler(NamespaceHandler(movers), name="scheduler", barrier=True)
        self.informers.nodes.add_handler(NodeHandler(self.table, movers), name="scheduler", barrier=True)
        self.informers.informer(PRIORITY_CLASS).add_handler(
            ClassWatch(self.classes, self.queue.weigh), name="scheduler"
        )
        self.informers.informer(DISRUPTION_BUDGET).add_handler(BudgetWatch(self.budgets), name="preemption")
        self.broadcaster = Broadcaster(clock=self.clock)
        recorder = Recorder(self.broadcaster.publish, controller="default-scheduler", instance="me", clock=self.clock)
        leases = EventLeases(lambda seconds: self.etcd.lease_grant(seconds, timeout=1), clock=self.clock)
        self.sink = EventSink(self.broadcaster.subscribe("sink"), leases, clock=self.clock)
        self.parts = Parts(
            lock=LockName(term.PREFIX, "kube-system", "kube-scheduler"),
            queue=self.queue,
            table=self.table,
            assumed=self.assumed,
            waiting=self.waiting,
            members=self.members,
            profiles=profiles,
            wait_for_barrier=self.informers.barrier.wait,
            applied=lambda: self.informers.barrier.applied,
            reopen_watch=self.informers.hub.reopen,
            sender=self.sender,
            settle=self.settle,
            recorder=recorder,
            sink=self.sink,
            leases=leases,
            clock=self.clock,
            draw=random.Random(2),  # noqa: S311  # repeatable, no secret
            classes=self.classes,
            budgets=self.budgets,
            departing=self.informers.departing,
            expect=self.informers.pods.reflector.expect,
            extenders=extenders or Extenders(),
        )
        self.settings = settings or Settings(attempt=0.2, barrier=5.0, drain=5.0)
        self.scheduler = Scheduler(self.parts, self.settings)
        self.leadership: Any = None
        self.work: threading.Thread | None = None
        self.failure: BaseException | None = None

    def replace(self, **parts: Any) -> None:
        """Exchange some parts, before leading."""
        self.parts = replace(self.parts, **parts)
        self.scheduler = Scheduler(self.parts, self.settings)

    def settle(self, txn: Any, stop: threading.Event) -> Any:
        return settle(self.etcd, txn, clock=self.clock, stop=stop, attempt=0.2, within=60.0)

    def __enter__(self) -> Self:
        self.group.spawn("sink", self.sink.run, self.group.stop)
        self.informers.start()
        assert self.informers.wait_for_sync(self.group.stop, WITHIN)
        eventually(lambda: self.informers.hub._watch, within=WITHIN, what="the watch that follows the list")
        return self

    def __exit__(self, *_: object) -> None:
        if self.leadership is not None:
            self.leadership.lost.set()
            self.wait_for_end()
        self.group.request_stop()
        self.informers.close()
        self.broadcaster.close()
        self.etcd.close()
        assert self.group.join(5.0) == ()

    # --- terms

    def lead(self) -> None:
        """Begin a term and let the scheduler work in it."""
        self.leadership = term.begin(self.etcd, self.clock)

        def run() -> None:
            try:
                self.scheduler.run(self.leadership)
            except BaseException as error:  # noqa: BLE001  # told to the test
                self.failure = error

        self.work = threading.Thread(target=run, name="work", daemon=True)
        self.work.start()

    def wait_for_end(self) -> None:
        assert self.work is not None
        self.work.join(WITHIN)
        assert not self.work.is_alive()

    # --- what users do and see

    def add_node(self, name: str, **fields: Any) -> None:
        self.etcd.put(object_key(term.PREFIX, NODE, name), node_value(name, **fields))

    def add_group(self, name: str, least: int, **spec: Any) -> None:
        document = {"metadata": {"name": name, "namespace": "default"}, "spec": {"minMember": least, **spec}}
        key = object_key(term.PREFIX, POD_GROUP, name, "default")
        self.etcd.put(key, codec.encode(json.dumps(document).encode()))

    def add_pods(self, *names: str, **fields: Any) -> None:
        for name in names:
            self.etcd.put(term.pod_key(name), pod_value(name, **fields))

    def node_of(self, name: str) -> str:
        return term.read(self.etcd, name).node

    def placed(self, names: list[str]) -> dict[str, str]:
        return {name: self.node_of(name) for name in names}

    def wait_bound(self, *names: str) -> None:
        eventually(lambda: all(map(self.node_of, names)), within=WITHIN, what=f"{names} bound")

    def condition(self, name: str) -> Any:
        kv = self.etcd.get(term.pod_key(name))
        return codec.status_of(kv.value).scheduled if kv is not None else None

    def events(self, reason: str = "") -> list[Event]:
        """What is stored, in the order of revisions."""
        kvs = sorted(self.etcd.list(f"{term.PREFIX}/events/", timeout=1).kvs, key=lambda kv: kv.create_revision)
        found: list[Any] = [codec.decode(EVENT, kv) for kv in kvs]
        return [each for each in found if reason in {"", each.reason}]
