"""`replica`, one of whose listeners is held back at takeover.

The pods' listener stands still when it is to be told that a pod `first` has a node, and goes on a second after this
replica has begun to lead.
"""

from __future__ import annotations

import threading

from component import logs
from component.clock import SystemClock
from lockd.elector import Elector
from replica.__main__ import main
from replica.handlers import PodHandler

HELD_BACK = 1.0

clock, began, log = SystemClock(), threading.Event(), logs.get("launcher")


def plant() -> None:
    """Put it in."""
    placed, begin = PodHandler._placed, Elector._begin

    def slowly_placed(self, pod):
        if pod.name == "first":
            log.info("listener stands still")
            began.wait(60.0)
            clock.wait(threading.Event(), HELD_BACK)
            log.info("listener goes on")
        placed(self, pod)

    def note_and_begin(self, election):
        began.set()
        return begin(self, election)

    PodHandler._placed = slowly_placed
    Elector._begin = note_and_begin


if __name__ == "__main__":
    plant()
    main()
