"""The end of preempted pods: no kubelet is here to tell when they have stopped, so their grace period decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from component import logs
from component.clock import LONGEST_WAIT
from lockd.errors import Fenced, LeaseNotFound, StoreError
from lockd.fencing import ObjectWrite
from replica.api.keys import object_key
from replica.api.kinds import POD
from replica.api.times import parse_time

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Sequence

    from component.clock import Clock
    from lockd.fencing import GuardedReply
    from replica.api.pods import Pod
    from replica.events.leases import EventLeases
    from replica.events.recorder import Recorder
    from replica.events.term import TermEvents

_log = logs.get(__name__)

KILLED: Final = "Killing"
"""The reason of the event that a pod's deletion puts: a kubelet's."""

BATCH: Final = 40
"""Deletions in one transaction, each with its event."""

SOONEST: Final = 0.05
"""Seconds between two looks at least."""


class Reaper:
    """Deletes the pods that preemption marked, once their grace period is over, while this replica leads.

    All it knows is in the pods: whoever leads goes on where another one ended. A pod that changed meanwhile is looked
    at again once the cache has it.

    Args:
        departing: The pods that preemption marked, as cached.
        write: Makes guarded writes and settles them (`TermWriter.write`).
    """

    def __init__(
        self,
        departing: Callable[[], Iterable[Pod]],
        write: Callable[[Sequence[ObjectWrite]], GuardedReply],
        *,
        prefix: str,
        events: TermEvents,
        leases: EventLeases,
        recorder: Recorder,
        clock: Clock,
    ) -> None:
        self._departing = departing
        self._write = write
        self._prefix = prefix
        self._events = events
        self._leases = leases
        self._recorder = recorder
        self._clock = clock
        self._tried: dict[str, int] = {}
        """uid -> the mod revision that a write met, until the cache shows another."""

    def run(self, stop: threading.Event) -> None:
        """Do so until stopped or the term is over."""
        wait = 0.0
        while not self._clock.wait(stop, wait):
            try:
                wait = self.step()
            except Fenced:
                return

    def step(self) -> float:
        """Delete those whose time has come, as many as one transaction holds.

        Returns:
            Seconds until the next look.

        Raises:
            Fenced: The term is over.
        """
        now = self._clock.wall()
        due: list[Pod] = []
        soonest = LONGEST_WAIT
        present = set()
        for pod in self._departing():
            present.add(pod.uid)
            if self._tried.get(pod.uid) == pod.mod_revision:
                continue
            left = (parse_time(pod.ends) or 0.0) - now
            if left <= 0:
                due.append(pod)
            else:
                soonest = min(soonest, left)
        self._tried = {uid: revision for uid, revision in self._tried.items() if uid in present}
        if due:
            self._delete(due[:BATCH])
        return 0.0 if len(due) > BATCH else max(SOONEST, soonest)

    def _delete(self, pods: Sequence[Pod]) -> None:
        try:
            lease = self._leases.current()
            try:
                self._write([self._deletion(pod, lease) for pod in pods])
            except LeaseNotFound:
                self._leases.forget(lease)
                return
        except StoreError as error:
            _log.warning("preempted pods not deleted", pods=len(pods), error=error)
            return
        # Gone, or changed since: the cache will tell.
        self._tried.update((pod.uid, pod.mod_revision) for pod in pods)

    def _deletion(self, pod: Pod, lease: int) -> ObjectWrite:
        note = "Deleted after its grace period: preempted by a pod that matters more"
        event = self._recorder.make(pod, reason=KILLED, note=note, action="Killing", controller=pod.spec.scheduler)
        key = object_key(self._prefix, POD, pod.name, pod.namespace)
        return ObjectWrite(key, pod.mod_revision, None, riders=(self._events.put(event, lease),))
