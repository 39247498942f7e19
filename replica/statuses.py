"""What the scheduler says in pods' statuses: written under the term, one write of a pod after the other."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, NamedTuple

from component import logs
from component.clock import LONGEST_WAIT
from lockd.errors import Fenced, StoreError
from lockd.fencing import ObjectWrite
from lockd.record import display_time
from replica.api import codec, status
from replica.api.keys import object_key
from replica.api.kinds import POD
from replica.write_metrics import STATUS, WriteMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from component.clock import Clock
    from lockd.fencing import GuardedReply, Token
    from replica.api.pods import Pod

_log = logs.get(__name__)

BATCH: Final = 100
BATCH_BYTES: Final = 1 << 20
"""What one transaction holds at most."""


class _Wish(NamedTuple):
    pod: Pod
    reason: str
    message: str
    nominated: str


class StatusWriter:
    """Writes the PodScheduled condition of pods that could not be placed, where it says something new.

    The newest wish for a pod replaces one that waits. A write that finds its pod changed is dropped: whoever changed
    it brings the pod back to the scheduler, which then says it again.

    Args:
        write: Makes guarded writes and settles them (`TermWriter.write`), so that a pod has one unsettled at a time.
    """

    def __init__(
        self, write: Callable[[Sequence[ObjectWrite]], GuardedReply], *, prefix: str, token: Token, clock: Clock
    ) -> None:
        self._write = write
        self._prefix = prefix
        self._token = token
        self._clock = clock
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._wishes: dict[str, _Wish] = {}
        self._unsettled: frozenset[str] = frozenset()
        self._metrics = WriteMetrics()

    def say(self, pod: Pod, *, reason: str, message: str, nominated: str = "") -> bool:
        """Have `PodScheduled: False` written, unless the pod says just that already.

        Returns:
            Whether there was anything to write.
        """
        if pod.value is None:
            return False
        said = codec.status_of(pod.value)
        told = said.scheduled
        if (
            told is not None
            and (told.status, told.reason, told.message) == ("False", reason, message)
            and said.nominated_node_name == nominated
        ):
            return False
        with self._lock:
            self._wishes[pod.uid] = _Wish(pod, reason, message, nominated)
            self._changed.notify()
        return True

    def take_back(self, pod: Pod) -> bool:
        """Have a pod's status promise it no node any more, and say else what it says.

        Returns:
            Whether there was anything to write.
        """
        told = codec.status_of(pod.value).scheduled if pod.value is not None else None
        return told is not None and self.say(pod, reason=told.reason, message=told.message)

    def withdraw(self, uid: str) -> bool:
        """A pod is about to be bound: take back what waits to be written of it.

        Returns:
            False when a write is on its way: it may change the revision that the bind compares.
        """
        with self._lock:
            self._wishes.pop(uid, None)
            return uid not in self._unsettled

    @property
    def waiting(self) -> int:
        """How many statuses are to be written, or on their way."""
        return len(self._wishes) + len(self._unsettled)

    def run(self, stop: threading.Event) -> None:
        """Write what is asked for until stopped or the term is over."""
        while not stop.is_set():
            try:
                self.flush(LONGEST_WAIT / 4)
            except Fenced:
                return

    def wake(self) -> None:
        """Have `run` look at its stop event now."""
        with self._lock:
            self._changed.notify_all()

    def flush(self, wait: float) -> int:
        """Write what one transaction holds, waiting up to `wait` seconds for something to write.

        Returns:
            How many statuses were to be written.

        Raises:
            Fenced: The term is over.
        """
        wishes = self._take(wait)
        written, began = 0, self._clock.now()
        try:
            if wishes:
                reply = self._write([self._object_write(wish) for wish in wishes])
                written = sum(result.applied for result in reply.results)
        except StoreError as error:
            # The pods will fail again, and then it is said again.
            _log.warning("pod statuses not written", pods=len(wishes), error=error)
        finally:
            self._unsettled = frozenset()
            self._metrics.settled(STATUS, self._clock.now() - began, done=written, failed=len(wishes) - written)
        return len(wishes)

    def _take(self, wait: float) -> list[_Wish]:
        """The wishes of one transaction, marked as on their way."""
        with self._lock:
            if not self._wishes and wait > 0:
                self._changed.wait(wait)
            taken: list[_Wish] = []
            size = 0
            for uid, wish in list(self._wishes.items()):
                size += len(wish.pod.value or b"") + len(wish.message)
                if taken and (len(taken) == BATCH or size > BATCH_BYTES):
                    break
                taken.append(self._wishes.pop(uid))
            self._unsettled = frozenset(wish.pod.uid for wish in taken)
            return taken

    def _object_write(self, wish: _Wish) -> ObjectWrite:
        pod = wish.pod
        value = pod.value or b""
        told = codec.status_of(value).scheduled
        # The time of a condition is when its status changed, not its reason.
        since = told.last_transition_time if told is not None and told.status == "False" else ""
        said = status.unschedulable(
            wish.message,
            at=since or display_time(self._clock.wall()),
            reason=wish.reason,
            nominated=wish.nominated,
        )
        key = object_key(self._prefix, POD, pod.name, pod.namespace)
        return ObjectWrite(key, pod.mod_revision, codec.with_status(value, said, int(self._token)))
