"""Numbers that their owners keep anyway and that are read when somebody collects.

An observable instrument of the SDK has one set of callbacks, given when it is made; here each of several owners, such
as the profiles of a scheduler, feeds the same instrument for as long as it lives.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from opentelemetry import metrics

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions

Values = Iterable[tuple[float, Mapping[str, str]]]
Read = Callable[[], Values]


class _Made:
    """What is read, by the name of the instrument."""

    readers: dict[str, list[Callable[[], Read | None]]] = {}  # noqa: RUF012 - one for the process on purpose
    lock = threading.Lock()


def gauge(name: str, read: Read, *, unit: str = "", description: str = "") -> None:
    """Have `read` give values, each with its labels, that go up and down.

    Args:
        name: As for the SDK's instruments: Prometheus gets it with the unit at its end.
        read: Must return at once and hold no lock for long. That of a method whose object is gone is read no more.
    """
    if _join(name, read):
        metrics.get_meter(__name__).create_observable_gauge(name, [_callback(name)], unit, description)


def counter(name: str, read: Read, *, unit: str = "", description: str = "") -> None:
    """Have `read` give totals, each with its labels, that only grow; Prometheus gets the name with `_total`.

    Args:
        name: As above.
        read: As above.
    """
    if _join(name, read):
        metrics.get_meter(__name__).create_observable_counter(name, [_callback(name)], unit, description)


def _join(name: str, read: Read) -> bool:
    """Is this the first that feeds the instrument?"""
    reader: Callable[[], Read | None] = weakref.WeakMethod(read) if inspect.ismethod(read) else lambda: read
    with _Made.lock:
        known = _Made.readers.get(name)
        _Made.readers[name] = [*(each for each in known or () if each() is not None), reader]
        return known is None


def _callback(name: str) -> Callable[[CallbackOptions], Iterable[metrics.Observation]]:
    def observe(_: CallbackOptions) -> Iterable[metrics.Observation]:
        for reader in _Made.readers[name]:
            if (read := reader()) is not None:
                for value, labels in read():
                    yield metrics.Observation(value, labels)

    return observe
