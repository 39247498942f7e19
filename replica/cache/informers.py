"""All informers of a process, and the one hub that feeds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from component import logs
from component.clock import SystemClock
from replica.api.codec import DECODERS, as_bound
from replica.api.kinds import DISRUPTION_BUDGET, NAMESPACE, NODE, POD, POD_GROUP, PRIORITY_CLASS
from replica.cache.audit import CacheAudit
from replica.cache.barrier import Barrier
from replica.cache.informer import SharedInformer
from replica.cache.metrics import InformerMetrics
from replica.cache.watch_hub import WatchHub

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable

    from component.clock import Clock
    from component.lifecycle import Group
    from replica.api.kinds import Kind
    from replica.api.nodes import Node
    from replica.api.pods import Pod
    from replica.cache.mutation import MutationDetector
    from replica.cache.watch_hub import Route, Source

_log = logs.get(__name__)

READ: Final = (POD, NODE, NAMESPACE, PRIORITY_CLASS, POD_GROUP, DISRUPTION_BUDGET)
"""The kinds that scheduling reads. Events are not among them: nobody needs them in memory."""

DEPARTING: Final = "departing"
"""The index of pods that preemption marked for deletion, and the one value they are found under."""


def _end_of(pod: Pod) -> tuple[str, ...]:
    return (DEPARTING,) if pod.ends else ()


def _alive(pod: Pod) -> bool:
    return not pod.terminal


class Informers:
    """One shared informer for each kind, however many ask, behind one watch and one barrier.

    Args:
        group: Owns all threads; a failure (such as HistoryLost) stops it.
        kinds: To be cached.
        resync: Seconds between two resyncs for the handlers that want them; 0 for none.
        detector: Finds objects that somebody changes; None outside of tests.
    """

    def __init__(
        self,
        source: Source,
        prefix: str,
        *,
        group: Group,
        kinds: Iterable[Kind] = READ,
        resync: float = 0.0,
        detector: MutationDetector | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._group = group
        self._clock = clock or SystemClock()
        self._started = False
        self._detector = detector
        self.barrier = Barrier(self._clock)
        self.hub = WatchHub(source, prefix, self.barrier, clock=self._clock)
        self._informers: dict[str, SharedInformer[Any]] = {}
        for kind in kinds:
            informer: SharedInformer[Any] = SharedInformer(
                kind,
                prefix,
                decode=cast("Callable[[Any], Any]", DECODERS[kind]),
                barrier=self.barrier,
                group=group,
                keep=_alive if kind is POD else None,
                renew=as_bound if kind is POD else None,
                indexes={DEPARTING: _end_of} if kind is POD else None,
                resync=resync,
                detector=detector,
                clock=self._clock,
            )
            self._informers[kind.plural] = informer
            self.hub.route(kind.plural, informer)
        self._metrics = InformerMetrics(self._informers)
        self.audit = CacheAudit(source, prefix, self.hub, self._informers, clock=self._clock)

    @property
    def pods(self) -> SharedInformer[Pod]:
        return self._informers[POD.plural]

    @property
    def nodes(self) -> SharedInformer[Node]:
        return self._informers[NODE.plural]

    def departing(self) -> list[Pod]:
        """The pods that preemption marked for deletion and that are still there."""
        return self.pods.indexer.by_index(DEPARTING, DEPARTING)

    def informer(self, kind: Kind) -> SharedInformer[Any]:
        """The one informer of a kind.

        Raises:
            KeyError: The kind is not cached.
        """
        return self._informers[kind.plural]

    def route(self, segment: str, route: Route) -> None:
        """Hand the keys of another segment (`leases`, `terms`, `candidates` ...) to `route`, before `start`."""
        self.hub.route(segment, route)

    def start(self) -> None:
        """Start the threads of the hub, the informers and the audit. A second start does nothing."""
        if self._started:
            return
        self._started = True
        for informer in self._informers.values():
            informer.start()
        self._group.spawn("watch hub", self.hub.run, self._group.stop)
        self._group.spawn("cache audit", self.audit.run, self._group.stop)
        if self._detector is not None:
            self._group.spawn("mutation detector", self._detector.run, self._group.stop)

    @property
    def has_synced(self) -> bool:
        """Every indexer holds all of the first list."""
        return all(informer.has_synced for informer in self._informers.values())

    def problem(self) -> str | None:
        """Why the caches are not ready, or None: a readiness check."""
        if waiting := [plural for plural, informer in self._informers.items() if not informer.has_synced]:
            return self.hub.problem() or f"not synced: {', '.join(waiting)}"
        return self.hub.problem()

    def wait_for_sync(self, stop: threading.Event, timeout: float) -> bool:
        """Wait until every cache and every listener behind the barrier holds the first list; False if that fails."""
        return self.barrier.wait(1, stop, timeout)

    def wait_for(self, revision: int, stop: threading.Event, *, reopen_after: float, timeout: float) -> bool:
        """Wait until all that scheduling reads has seen `revision`: what a new leader does with its token.

        Args:
            reopen_after: Seconds after which the watch is moved to another member, since the one it is on may lag.
            timeout: Seconds in all.

        Returns:
            False at the timeout, or when `stop` was set before.
        """
        if self.barrier.wait(revision, stop, min(reopen_after, timeout)):
            return True
        if stop.is_set() or timeout <= reopen_after:
            return False
        _log.warning("caches are behind the token", token=revision, behind=self.barrier.behind(revision))
        self.hub.reopen()
        return self.barrier.wait(revision, stop, timeout - reopen_after)

    def close(self) -> None:
        """Let all threads end that the group's stop has told to; waits for none."""
        self.hub.close()
        self.audit.request()
        for informer in self._informers.values():
            informer.close()
