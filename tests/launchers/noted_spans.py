"""`replica`, which notes each span of the election as it is emitted, by a system call, and how late its threads run.

The file is named by NOTED_SPANS. A line: `span <wall> <traceparent> <name>`, or `late <wall> <seconds>`.
"""

from __future__ import annotations

import os
import threading
import time

from component import tracing
from replica.__main__ import main

STEP = 0.01
"""Seconds that the look-out waits each time."""


def plant() -> None:
    """Put it in."""
    fd = os.open(os.environ["NOTED_SPANS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    emit, never = tracing.emit, threading.Event()

    def noted(name, **fields):
        told = emit(name, **fields)
        if name.startswith("leader_election."):
            os.write(fd, f"span {time.time()} {told} {name}\n".encode())  # noqa: TID251  # no clock is injected here
        return told

    def look_out() -> None:
        while True:
            before = time.perf_counter()
            never.wait(STEP)
            late = time.perf_counter() - before - STEP
            os.write(fd, f"late {time.time()} {late}\n".encode())  # noqa: TID251  # the same

    tracing.emit = noted
    threading.Thread(target=look_out, name="look-out", daemon=True).start()


if __name__ == "__main__":
    plant()
    main()
