"""`replica`, whose scheduling thread meets its end at a pod's name: `raise`, `hang`, or `hold-the-interpreter`."""

from __future__ import annotations

import ctypes
import threading

from replica.__main__ import main
from replica.term import TermWork

FOR_EVER = 3600


class PlantedError(Exception):
    """What the work raises."""


def misbehave(name: str) -> None:
    """Do what the pod's name asks for."""
    if name == "raise":
        raise PlantedError("planted")
    if name == "hang":
        threading.Event().wait()
    if name == "hold-the-interpreter":
        ctypes.PyDLL(None).sleep(FOR_EVER)  # unlike CDLL it keeps the interpreter's lock


def plant() -> None:
    """Put it in."""
    place = TermWork._place

    def bad_place(self, batch):
        for queued in batch:
            misbehave(queued.pod.name)
        place(self, batch)

    TermWork._place = bad_place


if __name__ == "__main__":
    plant()
    main()
