"""Waiting for something to become true, with a deadline: the only way tests wait."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, TypeVar

from component.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
POLL = 0.01


def eventually(condition: Callable[[], T], *, within: float, what: str = "") -> T:
    """The first truthy result of `condition`, asked again and again for `within` seconds.

    Raises:
        AssertionError: It stayed false; names `what` (by default the condition) and its last result.
    """
    clock, never = SystemClock(), threading.Event()
    end = clock.now() + within
    while not (result := condition()):
        if clock.now() >= end:
            name = what or getattr(condition, "__qualname__", repr(condition))
            raise AssertionError(f"not within {within} s: {name}; the last result was {result!r}")
        clock.wait(never, POLL)
    return result
