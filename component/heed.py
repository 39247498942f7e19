"""Signals heard at once, whatever the main thread does.

A handler in Python runs on the main thread when that next comes to it. A signal that arrives while the main thread is
about to wait is therefore heard when the wait is over, a second late perhaps. The number that the handler in C writes
to a descriptor is read by a thread that has nothing else to do.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MOST: Final = 64
"""Numbers read at once."""


def heed(numbers: Iterable[signal.Signals], hear: Callable[[signal.Signals], object]) -> None:
    """From now on call `hear` with each of these signals, on a thread of its own.

    Once in a process, on its main thread.

    Args:
        hear: Must return soon: the next signal waits for it.
    """
    wanted = frozenset(numbers)
    heard, told = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)

    def listen() -> None:
        while read := os.read(heard, _MOST):
            for number in read:
                if number in wanted:
                    hear(signal.Signals(number))

    threading.Thread(target=listen, name="signals", daemon=True).start()
    for number in wanted:
        signal.signal(number, _nothing)


def _nothing(*_: object) -> None:
    """Keeps a signal from its default action; the descriptor tells of it."""
