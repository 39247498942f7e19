"""The mutation detector: has anybody changed what all share? For tests: it encodes each object again and again."""

from __future__ import annotations

import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from component.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from component.clock import Clock

SWITCH: Final = "LOCKD_CACHE_MUTATION_DETECTOR"
"""Set to `true`, this variable turns the detector on, as KUBE_CACHE_MUTATION_DETECTOR does in client-go."""

PERIOD: Final = 1.0
"""Seconds between two looks at all that is cached."""

RETIRED: Final = 1000
"""Objects that are looked at though a cache holds newer ones: a handler may have been told of them lately."""


class Mutated(RuntimeError):
    """A cached object isn't what it was when it came.

    Attributes:
        name: The object, such as `pods default/a`.
        by: The listener whose handler had it just then, or "" when that isn't known.
    """

    def __init__(self, name: str, by: str) -> None:
        super().__init__(
            f"the cached object {name} was changed" + (f" by the handler of listener {by!r}" if by else "")
        )
        self.name = name
        self.by = by


class _Seen(NamedTuple):
    name: str
    obj: object
    digest: bytes


class MutationDetector:
    """Keeps what each cached object looked like, and compares: after each handler, and all of them now and then.

    What it finds it raises, in the thread of the listener or in its own, and that ends the process's work: a cache that
    somebody writes to is worth nothing. Thread-safe.
    """

    def __init__(self, *, clock: Clock | None = None, retired: int = RETIRED) -> None:
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._seen: dict[int, _Seen] = {}
        """By the object's id, which is its own as long as it is kept here."""
        self._current: dict[str, int] = {}
        self._retired: deque[int] = deque()
        self._room = retired

    def see(self, name: str, obj: object | None) -> None:
        """`name` (such as `pods default/a`) is this object from now on; None: it is gone."""
        with self._lock:
            old = self._current.pop(name, None)
            if old is not None and old != id(obj):
                self._retired.append(old)
            if obj is not None:
                self._current[name] = id(obj)
                if old != id(obj):
                    self._seen[id(obj)] = _Seen(name, obj, _digest(obj))
            while len(self._retired) > self._room:
                self._compare(self._seen.pop(self._retired.popleft(), None))

    def check(self, obj: object, by: str) -> None:
        """A listener's handler has had this object.

        Raises:
            Mutated: It has been changed.
        """
        with self._lock:
            self._compare(self._seen.get(id(obj)), by)

    def compare(self) -> None:
        """Look at all objects.

        Raises:
            Mutated: One has been changed.
        """
        with self._lock:
            for seen in self._seen.values():
                self._compare(seen)

    def run(self, stop: threading.Event) -> None:
        """Look at all objects each second until stopped.

        Raises:
            Mutated: One has been changed.
        """
        while not self._clock.wait(stop, PERIOD):
            self.compare()

    @staticmethod
    def _compare(seen: _Seen | None, by: str = "") -> None:
        if seen is not None and _digest(seen.obj) != seen.digest:
            raise Mutated(seen.name, by)


def from_environment(environ: Mapping[str, str], *, clock: Clock | None = None) -> MutationDetector | None:
    """A detector if the environment asks for one."""
    return MutationDetector(clock=clock) if environ.get(SWITCH) == "true" else None


def _digest(obj: Any) -> bytes:
    return msgspec.json.encode(obj, enc_hook=repr)
