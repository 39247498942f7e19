"""The signals that ask a command to stop."""

from __future__ import annotations

import signal
import threading

from component.heed import heed


def stop_by_signal() -> threading.Event:
    """Set by Ctrl-C, SIGTERM, or the end of the terminal."""
    stop = threading.Event()
    heed((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), lambda _: stop.set())
    return stop
