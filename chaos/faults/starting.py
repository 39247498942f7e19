"""Starting an ended process again."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

from chaos.errors import NotStarted, TooSlow
from chaos.faults.errors import NotHealed

if TYPE_CHECKING:
    from chaos.cluster.interface import Cluster, Target
    from component.clock import Clock

PAUSE: Final = 0.1


def start_again(cluster: Cluster, target: Target, *, clock: Clock, within: float) -> Target:
    """Start it, unless it runs, and give its new process.

    More than one try may be needed: for a moment after its end an ended process is still taken for a running one by
    whoever started it, since some of its threads are.

    Raises:
        NotHealed: It doesn't run after so many seconds.
    """
    end = clock.now() + within
    while True:
        try:
            return cluster.start(target)
        except (NotStarted, TooSlow) as error:
            if clock.now() >= end:
                raise NotHealed(f"{target.name} could not be started again: {error}") from error
            clock.wait(threading.Event(), PAUSE)
