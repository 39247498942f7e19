"""What a scheduler is made of, and the bounds it keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from replica.framework.extenders import Extenders
from replica.stories import PodStories

if TYPE_CHECKING:
    import random
    import threading
    from collections.abc import Callable, Iterable, Mapping

    from component.clock import Clock
    from lockd.fencing import Guard, Token
    from lockd.leadership import Bell
    from lockd.ports import LockName, Txn, TxnReply
    from replica.api.pods import Pod
    from replica.api.priority import Classes
    from replica.assume import AssumedPods
    from replica.binder import Sender
    from replica.cache.members import Members
    from replica.cache.node_table import NodeTable
    from replica.events.leases import EventLeases
    from replica.events.recorder import Recorder
    from replica.events.sink import EventSink
    from replica.framework.runtime import Runtime
    from replica.framework.waiting import WaitingPods
    from replica.preemption.book import BudgetBook
    from replica.queue.scheduling import SchedulingQueue


def _expect_nothing(_key: str, _value: bytes, _pod: Pod) -> None:
    """Every value that comes back is decoded."""


class Leadership(Protocol):
    """What the work needs of a term: `lockd.leadership.Leadership`."""

    @property
    def guard(self) -> Guard: ...

    @property
    def token(self) -> Token: ...

    @property
    def traceparent(self) -> str: ...

    @property
    def takeover(self) -> str: ...

    @property
    def lost(self) -> Bell: ...

    @property
    def draining(self) -> Bell: ...

    def holds(self, now: float) -> bool: ...

    def tick(self, until: float | None = None) -> None: ...

    def fenced(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Bounds, in seconds.

    Attributes:
        attempt: Before the next copy of a silent transaction goes to another member.
        patience: Until one copy is given up.
        barrier: Within which the caches must have caught up with the token; the work timeout.
        reopen: After which a watch that keeps them back is opened on another member; the renew deadline.
        drain: For what is in flight when the end is asked for.
        binding_threads: How many pods may be in PreBind at once.
    """

    attempt: float = 1.25
    patience: float = 10.0
    barrier: float = 20.0
    reopen: float = 10.0
    drain: float = 5.0
    binding_threads: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What outlives terms; a standby keeps all of it warm.

    Attributes:
        lock: The lock whose terms these are; its prefix is that of all keys.
        profiles: `schedulerName` -> its plugins.
        wait_for_barrier: Waits until all caches have passed a revision; False when so many seconds have passed before,
            or the event was set (`Barrier.wait`).
        applied: The revision that all caches have passed (`Barrier.applied`).
        reopen_watch: Have the watch opened again on another member (`WatchHub.reopen`).
        sender: Binds go this way (`lockd.etcd.gateway.Gateway`).
        settle: Sends copies of a transaction until one is answered or the event is set; raises StoreError. It must not
            give up before a term can be over: a pod's status must not have two writes on their way.
        members: Which pods there are of each pod group.
        sink: Stores events while there is a term.
        leases: What events expire by.
        classes: The priority classes that there are.
        budgets: What disruption budgets let go.
        departing: The pods that preemption marked for deletion, as cached.
        expect: Told of a key, the value about to be put there, and the pod that this value stands for, so that it
            need not be decoded when the watch brings it (`Reflector.expect`).
        stories: What is told of single pods.
        extenders: Told of the term whose guard they show.
    """

    lock: LockName
    queue: SchedulingQueue
    table: NodeTable
    assumed: AssumedPods
    waiting: WaitingPods
    members: Members
    profiles: Mapping[str, Runtime]
    wait_for_barrier: Callable[[int, threading.Event, float], bool]
    applied: Callable[[], int]
    reopen_watch: Callable[[], None]
    sender: Sender
    settle: Callable[[Txn, threading.Event], TxnReply]
    recorder: Recorder
    sink: EventSink
    leases: EventLeases
    clock: Clock
    draw: random.Random
    classes: Classes
    budgets: BudgetBook
    departing: Callable[[], Iterable[Pod]]
    expect: Callable[[str, bytes, Pod], object] = _expect_nothing
    stories: PodStories = field(default_factory=PodStories)
    extenders: Extenders = field(default_factory=Extenders)
