"""The scheduler: the work of a term. Barrier, "became leader", cycles, and an end in order."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from component import logs, tracing
from component.lifecycle import Group
from lockd.errors import Fenced, StoreError
from replica.binder import Binder
from replica.cycle import SchedulingCycle
from replica.outcomes import Outcomes
from replica.scheduler_metrics import SchedulerMetrics
from replica.statuses import StatusWriter
from replica.writer import TermWriter

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence

    from component.clock import Clock
    from lockd.fencing import Guard, GuardedReply, ObjectWrite, Token
    from lockd.ports import Txn, TxnReply
    from replica.assume import AssumedPods
    from replica.binder import Sender
    from replica.binding import Binding
    from replica.cache.node_table import NodeTable
    from replica.events.recorder import Recorder
    from replica.framework.runtime import Runtime
    from replica.framework.waiting import WaitingPods
    from replica.outcomes import Cycle
    from replica.queue.pod import QueuedPod
    from replica.queue.scheduling import SchedulingQueue

_log = logs.get(__name__)

BATCH: Final = 64
"""Pods taken from the queue at once."""

HOLD_BACK: Final = 0.003
"""Seconds after which pods that have their places go to the binder, though others of their batch have none yet."""

MOST_BINDING: Final = 2000
"""Pods with the binder at once: beyond that, places are given to pods that can't be bound yet."""

IDLE_POLL: Final = 0.1
"""Seconds between two looks at whether the term goes on, while there is nothing to do."""

BARRIER_SLICE: Final = 0.25


class Leadership(Protocol):
    """What the work needs of `lockd.leadership.Leadership`."""

    @property
    def guard(self) -> Guard: ...

    @property
    def token(self) -> Token: ...

    @property
    def traceparent(self) -> str: ...

    @property
    def lost(self) -> threading.Event: ...

    @property
    def draining(self) -> threading.Event: ...

    def holds(self, now: float) -> bool: ...

    def tick(self, until: float | None = None) -> None: ...

    def fenced(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Bounds, in seconds.

    Attributes:
        attempt: Before the next copy of a silent bind goes to another member.
        patience: Until one copy is given up.
        barrier: Until the caches must have caught up with the token.
        drain: For what is in flight when the end is asked for.
        binding_threads: How many PreBind plugins may block at once.
    """

    attempt: float = 1.25
    patience: float = 10.0
    barrier: float = 20.0
    drain: float = 5.0
    binding_threads: int = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What outlives terms: standbys keep all of it warm.

    Attributes:
        profiles: `schedulerName` -> its plugins.
        wait_for_barrier: Waits until all caches have passed a revision, the event is set (False), or so many seconds
            have passed (False).
        applied: The revision that all caches have passed.
        sender: Binds go this way (`lockd.etcd.gateway.Gateway`).
        settle: Sends a transaction until a copy is answered or the event is set.
        announce: Given the token and a guarded write, writes that this replica became leader, and has the term's
            events written by the same from now on.
        retire: The term is over: no event is written any more.
        prefix: Of all keys.
    """

    queue: SchedulingQueue
    table: NodeTable
    assumed: AssumedPods
    waiting: WaitingPods
    profiles: Mapping[str, Runtime]
    recorder: Recorder
    wait_for_barrier: Callable[[int, threading.Event, float], bool]
    applied: Callable[[], int]
    sender: Sender
    settle: Callable[[Txn, threading.Event], TxnReply]
    announce: Callable[[Token, Callable[[Sequence[ObjectWrite]], GuardedReply]], None]
    retire: Callable[[], None]
    prefix: str
    clock: Clock
    draw: random.Random


class Scheduler:
    """Schedules pods while a term lasts. `run` is the work that an elector is given."""

    def __init__(self, parts: Parts, settings: Settings | None = None) -> None:
        self._parts = parts
        self._settings = settings or Settings()
        self._binder: Binder | None = None
        self.metrics = SchedulerMetrics(sizes=self._sizes, pending=parts.queue.pending, binding=self._being_bound)

    def run(self, leadership: Leadership) -> None:
        """Schedule until the term is lost or its end is asked for; then see to what is in flight.

        Returning early ends the term: the caches didn't catch up in time.

        Raises:
            Exception: What a part of the machinery raised, not a plugin: the term ends.
        """
        _Term(self._parts, self._settings, leadership, self.metrics, self._track).run()

    def _track(self, binder: Binder | None) -> None:
        self._binder = binder

    def _being_bound(self) -> int:
        return self._binder.busy if self._binder is not None else 0

    def _sizes(self) -> Mapping[str, int]:
        nodes, pods = self._parts.table.sizes()
        return {"nodes": nodes, "pods": pods, "assumed_pods": self._parts.assumed.counts()[1]}


class _Term:
    """One term's work."""

    def __init__(
        self,
        parts: Parts,
        settings: Settings,
        leadership: Leadership,
        metrics: SchedulerMetrics,
        track: Callable[[Binder | None], None],
    ) -> None:
        self._parts = parts
        self._settings = settings
        self._leadership = leadership
        self._track = track
        self._clock = parts.clock
        self._group = Group("scheduling", clock=parts.clock)
        self._room = threading.Event()
        self._events = TermWriter(leadership, parts.settle, clock=parts.clock)
        self._statuses = StatusWriter(
            TermWriter(leadership, parts.settle, clock=parts.clock).write,
            prefix=parts.prefix,
            token=leadership.token,
            clock=parts.clock,
        )
        self._outcomes = Outcomes(
            queue=parts.queue,
            assumed=parts.assumed,
            statuses=self._statuses,
            recorder=parts.recorder,
            metrics=metrics,
            clock=parts.clock,
        )
        self._cycles = SchedulingCycle(
            profiles=parts.profiles,
            table=parts.table,
            assumed=parts.assumed,
            pods=parts.queue,
            outcomes=self._outcomes,
            statuses=self._statuses,
            recorder=parts.recorder,
            metrics=metrics,
            prefix=parts.prefix,
            token=leadership.token,
            clock=parts.clock,
            draw=parts.draw,
        )
        self._binder = Binder(
            parts.sender,
            leadership,
            clock=parts.clock,
            judged=self._judged,
            attempt=settings.attempt,
            patience=settings.patience,
        )
