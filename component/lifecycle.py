"""Threads with an owner, a name and an end."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, ParamSpec

from component import logs
from component.clock import LONGEST_WAIT, SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock

P = ParamSpec("P")

_log = logs.get(__name__)


class Group:
    """Threads that live and end together: the first one that fails stops all.

    They are daemons: a thread that doesn't end never keeps the process.

    Args:
        name: Of the group, the first part of each thread's name.
        on_failure: Called once with what was raised, in the thread that failed first, after `stop` was set.

    Attributes:
        stop: What every thread of the group waits on and ends by.
    """

    def __init__(
        self, name: str, *, on_failure: Callable[[BaseException], object] | None = None, clock: Clock | None = None
    ) -> None:
        self.name = name
        self.stop = threading.Event()
        self._on_failure = on_failure
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._failure: BaseException | None = None

    @property
    def failure(self) -> BaseException | None:
        """What the first thread to fail raised, or None."""
        with self._lock:
            return self._failure

    @property
    def alive(self) -> tuple[str, ...]:
        """The names of the threads that have not ended."""
        with self._lock:
            return tuple(thread.name for thread in self._threads if thread.is_alive())

    def spawn(self, name: str, fn: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> threading.Thread:
        """Run `fn` in a thread named `<group>/<name>`; it is to return soon after `stop` is set.

        Raises:
            RuntimeError: The system has no thread to give.
        """

        def run() -> None:
            try:
                fn(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - whatever ends a thread early is a failure of the group
                self._fail(thread.name, error)

        thread = threading.Thread(target=run, name=f"{self.name}/{name}", daemon=True)
        with self._lock:
            thread.start()
            self._threads = [known for known in self._threads if known.is_alive()]
            self._threads.append(thread)
        return thread

    def request_stop(self) -> None:
        """Ask every thread to end; says it once and doesn't wait."""
        self.stop.set()

    def join(self, seconds: float) -> tuple[str, ...]:
        """Wait for all threads but the calling one, `seconds` in all; returns the names of those that did not end."""
        end = self._clock.now() + seconds
        with self._lock:
            waited_for = [thread for thread in self._threads if thread is not threading.current_thread()]
        for thread in waited_for:
            while thread.is_alive() and (left := end - self._clock.now()) > 0:
                thread.join(min(left, LONGEST_WAIT))
        return tuple(thread.name for thread in waited_for if thread.is_alive())

    def _fail(self, thread: str, error: BaseException) -> None:
        with self._lock:
            first = self._failure is None
            if first:
                self._failure = error
        self.stop.set()
        if not first:
            _log.warning("another thread failed", thread=thread, error=error)
            return
        _log.exception("thread failed", error, thread=thread)
        if self._on_failure is not None:
            self._on_failure(error)
