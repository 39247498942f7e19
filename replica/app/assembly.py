"""Puts a scheduler together: caches, queue, plugins, events, and the handlers between them."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from lockd.etcd.retry import settle
from replica.api.kinds import DISRUPTION_BUDGET, NAMESPACE, NODE, POD, POD_GROUP, PRIORITY_CLASS
from replica.api.priority import Classes
from replica.app.profiles import profiles_of
from replica.assume import AssumedPods
from replica.cache.members import Members
from replica.cache.node_table import NodeTable
from replica.events.broadcaster import Broadcaster
from replica.events.leases import EventLeases
from replica.events.log import EventLog
from replica.events.recorder import Recorder
from replica.events.sink import EventSink
from replica.extenders import http
from replica.framework.extenders import Extenders
from replica.framework.interface import Handle
from replica.framework.profiles import runtimes_of
from replica.framework.waiting import WaitingPods
from replica.handlers import Movers, NamespaceHandler, NodeHandler, PodGroupHandler, PodHandler
from replica.parts import Parts, Settings
from replica.plugins.in_tree import registry
from replica.preemption.book import BudgetBook, BudgetWatch
from replica.preemption.classes import ClassWatch
from replica.queue.hints import Hints
from replica.queue.nominator import Nominator
from replica.queue.scheduling import SchedulingQueue
from replica.scheduler import Scheduler
from replica.stories import PodStories
from replica.timed import Timed, pod_subject, subject_of

if TYPE_CHECKING:
    import threading

    from component.clock import Clock
    from component.lifecycle import Group
    from lockd.config import ElectionConfig
    from lockd.etcd.gateway import Gateway
    from lockd.ports import Txn, TxnReply
    from replica.api.pods import Pod
    from replica.app.config import ReplicaConfig
    from replica.cache.informers import Informers

NEVER_GIVES_UP = 86_400.0
"""Seconds: a status write is given up when its term is lost, not before."""

LEASE_TIMEOUT = 2.0


@dataclass(frozen=True, slots=True)
class Assembly:
    """A scheduler and what runs beside it."""

    scheduler: Scheduler
    queue: SchedulingQueue
    broadcaster: Broadcaster
    sink: EventSink


def settings_of(election: ElectionConfig) -> Settings:
    """The scheduler's bounds, as they follow from the election's."""
    return Settings(
        attempt=election.attempt,
        patience=election.renew_deadline,
        barrier=election.work_timeout,
        reopen=election.renew_deadline,
        drain=election.drain_timeout,
    )


def assemble(config: ReplicaConfig, informers: Informers, gateway: Gateway, group: Group, clock: Clock) -> Assembly:
    """Make a scheduler on these caches, and start the threads of its events.

    Args:
        gateway: For binds and all else that the scheduler writes.

    Raises:
        ConfigError: A plugin can't be had, or its arguments can't be used.
    """
    draw = random.Random()  # noqa: S311 - breaks ties between nodes
    waiting = WaitingPods()
    listers = {kind.kind: informers.informer(kind).lister for kind in (POD, NODE, POD_GROUP, NAMESPACE)}
    classes, budgets = Classes(), BudgetBook(lambda namespace: informers.pods.lister.namespaced(namespace).list())
    nominator, members = Nominator(), Members()
    extenders = Extenders(http.make(config.scheduler.extenders, informers.nodes.lister.get, clock))
    handle = Handle(
        clock=clock,
        draw=draw,
        waiting=waiting,
        listers=listers,
        nominator=nominator,
        members=members,
        extenders=extenders,
        classes=classes,
        budgets=budgets,
    )
    profiles = runtimes_of(profiles_of(config.scheduler), registry().discover(), handle, extenders)

    def gate(pod: Pod) -> str:
        profile = profiles.get(pod.spec.scheduler)
        return profile.gated_by(pod) if profile is not None else ""

    table = NodeTable()
    assumed = AssumedPods(table)
    queue = SchedulingQueue(
        clock=clock,
        order=profiles[config.scheduler_name].sort_key,
        hints=Hints.of(chain.from_iterable(each.registrations() for each in profiles.values())),
        priority=handle.priority,
        gate=gate,
        nominator=nominator,
        initial_backoff=config.scheduler.pod_initial_backoff_seconds,
        maximum_backoff=config.scheduler.pod_max_backoff_seconds,
        unschedulable_seconds=config.unschedulable_seconds,
    )
    broadcaster = Broadcaster(clock=clock)
    leases = EventLeases(lambda ttl: gateway.lease_grant(ttl, timeout=LEASE_TIMEOUT), clock=clock)
    sink = EventSink(broadcaster.subscribe("sink"), leases, clock=clock)
    group.spawn("event sink", sink.run, group.stop)
    group.spawn("event log", EventLog(broadcaster.subscribe("log", wants=EventLog.wants)).run, group.stop)
    recorder = Recorder(
        broadcaster.publish, controller=config.scheduler_name, instance=config.election.identity, clock=clock
    )
    attempt = config.election.attempt

    def settled(txn: Txn, stop: threading.Event) -> TxnReply:
        return settle(gateway, txn, clock=clock, stop=stop, attempt=attempt, within=NEVER_GIVES_UP)

    movers = Movers(queue, members, profiles)
    informers.informer(PRIORITY_CLASS).add_handler(ClassWatch(classes, queue.weigh), name="scheduler")
    informers.informer(DISRUPTION_BUDGET).add_handler(BudgetWatch(budgets), name="preemption")
    for kind, told in (
        (POD_GROUP, PodGroupHandler(movers)),
        (NAMESPACE, NamespaceHandler(movers)),
        (NODE, NodeHandler(table, movers)),
    ):
        timed: Timed[Any] = Timed(told, subject_of(kind), clock)
        informers.informer(kind).add_handler(timed, name="scheduler", barrier=True)
    stories = PodStories()
    handler = PodHandler(queue, assumed, waiting, profiles, movers, budgets=budgets, gone=stories.gone)
    informers.pods.add_handler(Timed(handler, pod_subject, clock), name="scheduler", barrier=True)
    parts = Parts(
        lock=config.lock,
        queue=queue,
        table=table,
        assumed=assumed,
        waiting=waiting,
        members=members,
        profiles=profiles,
        wait_for_barrier=informers.barrier.wait,
        applied=lambda: informers.barrier.applied,
        reopen_watch=informers.hub.reopen,
        sender=gateway,
        settle=settled,
        recorder=recorder,
        sink=sink,
        leases=leases,
        clock=clock,
        draw=draw,
        classes=classes,
        budgets=budgets,
        departing=informers.departing,
        expect=informers.pods.reflector.expect,
        stories=stories,
        extenders=extenders,
    )
    return Assembly(Scheduler(parts, settings_of(config.election)), queue, broadcaster, sink)
