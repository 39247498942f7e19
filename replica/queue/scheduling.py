"""The scheduling queue: which pod is tried next, and which may be worth another try."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from component.backoff import Backoff
from component.clock import LONGEST_WAIT
from replica.queue.changes import pod_change
from replica.queue.hints import (
    BACKOFF_COMPLETE,
    FAILURE,
    FORCE_ACTIVATE,
    POD_ADD,
    POD_GROUP_UPDATE,
    POD_UPDATE,
    PRIORITY_CLASS_CHANGE,
    UNSCHEDULABLE_TIMEOUT,
    Hints,
)
from replica.queue.inflight import Happening, InFlight
from replica.queue.metrics import QueueMetrics
from replica.queue.nominator import Nominator
from replica.queue.pod import QueuedPod, by_priority, stated_priority
from replica.queue.pools import UNSCHEDULABLE, Pools, never_gated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from component.clock import Clock
    from replica.api.pods import Pod
    from replica.queue.hints import ClusterEvent

INITIAL_BACKOFF = 1.0
MAXIMUM_BACKOFF = 10.0
UNSCHEDULABLE_SECONDS = 300.0
"""How long a pod stays in the unschedulable pool when nothing happens that may help it."""


class SchedulingQueue:
    """Pods without a node, each in one place.

    Active pods wait for their turn. A pod that failed is in backoff (after an error, or when something of interest
    happened during its cycle) or in the unschedulable pool, which it leaves when something happens that may help it
    (then by way of the backoff it still has to serve) or after five minutes. Gated pods wait until the plugin that
    gates them lets them pass. A pod that was popped is in flight until `done` or `requeue`.

    Thread-safe; standbys fill it too, and only the leader pops.

    Args:
        order: The queue's order, smallest first (QueueSort).
        priority: A pod's priority, by its manifest or its priority class.
        gate: The plugin that keeps a pod out of the active queue, or "" (PreEnqueue).
        change: What an update of a waiting pod changed; None when it changed nothing that scheduling reads.
        nominator: Told of what the pods' status promises; to be asked and told of promises made here.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        order: Callable[[QueuedPod], Any] = by_priority,
        hints: Hints | None = None,
        priority: Callable[[Pod], int] = stated_priority,
        gate: Callable[[Pod], str] = never_gated,
        change: Callable[[Pod, Pod], ClusterEvent | None] = pod_change,
        nominator: Nominator | None = None,
        initial_backoff: float = INITIAL_BACKOFF,
        maximum_backoff: float = MAXIMUM_BACKOFF,
        unschedulable_seconds: float = UNSCHEDULABLE_SECONDS,
    ) -> None:
        self._clock = clock
        self.nominator = Nominator() if nominator is None else nominator
        self._hints = hints or Hints()
        self._priority = priority
        self._change = change
        self._delays = Backoff(initial=initial_backoff, maximum=maximum_backoff)
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._closed = False
        self._pools = Pools(order, gate, patience=unschedulable_seconds)
        self._gates: set[str] = set()
        """The plugins that have kept a pod out so far."""
        self._flights: InFlight[Pod] = InFlight()
        self._incoming: Counter[tuple[str, str]] = Counter()
        self._metrics = QueueMetrics(self)

    # --- what the informers say

    def add(self, pod: Pod) -> None:
        """A pod without a node appeared (or is told of again)."""
        with self._lock:
            self._see(None, pod)

    def update(self, old: Pod | None, new: Pod) -> None:
        """A pod without a node changed."""
        with self._lock:
            self._see(old, new)

    def delete(self, key: str) -> None:
        """A pod (`namespace/name`) is gone, or has a node now."""
        with self._lock:
            self._pools.remove(key)
            self._flights.delete(key)
            self.nominator.forget(key)

    def move_all(
        self, event: ClusterEvent, *, old: Any = None, new: Any = None, check: Callable[[Pod], bool] | None = None
    ) -> int:
        """Something happened: move the pods that it may help out of the unschedulable pool.

        Args:
            old: What the event is about, as it was before.
            new: The same as it is now; hints get both.
            check: A cheap test that a pod must pass to be moved, such as "would it fit this new node at all?".

        Returns:
            How many moved.
        """
        with self._lock:
            if not (self._flights or self._pools.unschedulable or self._pools.gated):
                return 0  # nobody waits, nor will who is being tried now: the usual case in a standby
            self._flights.record(Happening(event, old, new))
            helped = [
                queued
                for queued in self._pools.unschedulable.concerned(lambda plugins: self._hints.concern(event, plugins))
                if (check is None or check(queued.pod))
                and self._hints.may_help(event, queued.pod, queued.refused_by, old=old, new=new)
            ]
            freed = []
            if self._pools.gated and any(self._hints.registered(event, gate) for gate in self._gates):
                freed = [held for held in self._pools.gated.values() if self._hints.registered(event, held.gated_by)]
            for queued in (*helped, *freed):
                self._pools.remove(queued.key)
            self._place(helped + freed, event)
            return len(helped)

    # --- what the scheduler says

    def pop_batch(self, most: int, stop: threading.Event, timeout: float) -> list[QueuedPod]:
        """Take up to `most` active pods in order, waiting until there is one.

        They are in flight from now on: each must come back by `done` or `requeue`.

        Args:
            timeout: Seconds to wait at most; 0 doesn't wait.

        Returns:
            The pods, their new attempt counted; none at the timeout, or when stopped or closed.
        """
        end = self._clock.now() + timeout
        with self._lock:
            while True:
                now = self._clock.now()
                self._flush(now)
                if self._closed or stop.is_set():
                    return []
                if self._pools.active or now >= end:
                    return self._take(most)
                self._changed.wait(min(end - now, self._pools.next_moment() - now, LONGEST_WAIT))

    def take(self, keys: Iterable[str]) -> list[QueuedPod]:
        """Take these out as `pop_batch` does, whatever backoff they have left; those gated or in flight stay."""
        with self._lock:
            return [self._start(queued) for queued in self._pools.take(keys)]

    def done(self, *keys: str) -> None:
        """These pods' cycles ended for good: they are bound, or were given up."""
        with self._lock:
            for key in keys:
                if (newcomer := self._flights.forget(key)) is not None:
                    self._enter(newcomer)

    def requeue(self, queued: QueuedPod, refused_by: Iterable[str] = ()) -> str:
        """A popped pod was not placed: keep it for another attempt.

        Args:
            queued: As it was popped.
            refused_by: The plugins that refused it; none when the cycle ended in an error, which another attempt may
                not meet.

        Returns:
            The queue it went to, or "" when it was deleted, or another pod came under its name, meanwhile.
        """
        with self._lock:
            landed = self._flights.finish(queued.key)
            if landed is None:
                return ""  # it came back already, or was never popped
            if landed.replaced:
                self._enter(landed.newest)
            if landed.replaced or landed.deleted:
                return ""
            plugins = frozenset(refused_by)
            now = self._clock.now()
            back = replace(
                queued,
                pod=landed.newest,
                priority=self._priority(landed.newest),
                queued_at=now,
                refused_by=plugins,
                flushed=False,
                backoff_until=now + self._delays.delay(queued.attempts - 1),
            )
            chance = not plugins or landed.missed
            if chance or any(
                self._hints.may_help(seen.event, back.pod, plugins, old=seen.old, new=seen.new)
                for seen in landed.happenings
            ):
                return self._place_one(back, FAILURE, now)
            self._incoming[self._pools.park(back, now), str(FAILURE)] += 1
            self._changed.notify()
            return UNSCHEDULABLE

    def activate(self, keys: Iterable[str]) -> int:
        """Make pods active at once, whatever backoff is left; those in flight are tried again soon; how many moved."""
        with self._lock:
            moved = []
            for key in keys:
                if key in self._flights:
                    self._flights.record(Happening(FORCE_ACTIVATE))
                elif queued := self._pools.resting(key):
                    self._pools.remove(key)
                    moved.append(replace(queued, backoff_until=0.0))
            self._place(moved, FORCE_ACTIVATE)
            return len(moved)

    def reconsider(self, keys: Iterable[str], plugin: str) -> None:
        """Something happened to these pods alone: look anew at those that only this plugin keeps back."""
        with self._lock:
            self._place(self._pools.kept_by(keys, plugin), POD_GROUP_UPDATE)

    def weigh(self) -> None:
        """Priority classes changed: give each pod the priority that it has now; who was refused is tried again then."""
        with self._lock:
            self._place(self._pools.weigh(self._priority), PRIORITY_CLASS_CHANGE)

    # --- what others ask

    def pending(self) -> dict[str, int]:
        """Pods by queue, as `scheduler_pending_pods` shows them: active, backoff, unschedulable, gated."""
        with self._lock:
            self._flush(self._clock.now())
            return self._pools.sizes()

    def incoming(self) -> dict[tuple[str, str], int]:
        """Pods that came into a queue so far, by queue and event."""
        with self._lock:
            return dict(self._incoming)

    def refusals(self) -> dict[tuple[str, str], int]:
        """Pods that wait though somebody refused or gates them, by plugin and profile; one counts for each plugin."""
        with self._lock:
            return self._pools.refusals()

    def happenings(self) -> dict[str, int]:
        """Cluster events remembered for the pods in flight, by event."""
        with self._lock:
            return self._flights.counts()

    def in_flight(self) -> int:
        """Pods popped and neither done nor requeued."""
        with self._lock:
            return len(self._flights)

    def get(self, key: str) -> QueuedPod | None:
        """A pod that waits in any of the queues; None for one in flight or unknown."""
        with self._lock:
            return self._pools.find(key)

    def wake(self) -> None:
        """Have whoever waits in `pop_batch` look at its stop event."""
        with self._lock:
            self._changed.notify_all()

    def close(self) -> None:
        """Wake whoever waits in `pop_batch`; it returns nothing from now on."""
        with self._lock:
            self._closed = True
            self._changed.notify_all()

    # --- with the lock held

    def _see(self, old: Pod | None, new: Pod) -> None:
        key = new.path
        if (flying := self._flights.update(key, new)) is not None:
            self.nominator.see(old or flying, new)
            if (change := self._change(old or flying, new)) is not None:
                self._flights.record(Happening(change, old, new))
            return
        queued = self._pools.find(key)
        if queued is None or queued.pod.uid != new.uid:
            if queued is not None:
                self._pools.remove(key)
            self._enter(new)
            return
        self.nominator.see(old or queued.pod, new)
        change = self._change(old or queued.pod, new)
        fresh = replace(queued, pod=new, priority=self._priority(new))
        freed = queued.gated_by or (
            queued.key in self._pools.unschedulable
            and change is not None
            and self._hints.may_help(change, new, queued.refused_by, old=old or queued.pod, new=new)
        )
        if not freed:
            self._pools.refresh(fresh)
            return
        self._pools.remove(fresh.key)
        self._place_one(fresh, POD_UPDATE, self._clock.now())

    def _enter(self, pod: Pod) -> None:
        if pod.nominated or len(self.nominator):
            self.nominator.see(None, pod)
        now = self._clock.now()
        self._place_one(QueuedPod(pod, now, now, self._priority(pod)), POD_ADD, now)

    def _take(self, most: int) -> list[QueuedPod]:
        taken: list[QueuedPod] = []
        while len(taken) < most and (queued := self._pools.next()) is not None:
            taken.append(self._start(queued))
        return taken

    def _start(self, queued: QueuedPod) -> QueuedPod:
        self._flights.start(queued.pod)
        return replace(queued, attempts=queued.attempts + 1)

    def _place(self, pods: Iterable[QueuedPod], event: ClusterEvent) -> None:
        """Put pods where they may go now."""
        now = self._clock.now()
        for queued in pods:
            self._place_one(queued, event, now)

    def _place_one(self, queued: QueuedPod, event: ClusterEvent, now: float) -> str:
        """Put a pod where it may go now; returns where that is."""
        where, gate = self._pools.place(queued, now)
        if gate:
            self._gates.add(gate)
        self._incoming[where, str(event)] += 1
        self._changed.notify()
        return where

    def _flush(self, now: float) -> None:
        """Move the pods whose time has come."""
        if now >= self._pools.next_moment():
            self._place(self._pools.rested(now), BACKOFF_COMPLETE)
            stale = (replace(queued, flushed=True) for queued in self._pools.impatient(now))
            self._place(stale, UNSCHEDULABLE_TIMEOUT)
