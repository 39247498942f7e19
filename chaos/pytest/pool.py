"""The clusters of one pytest process: brought up when a test first wants one, shared, ended with the session."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

from chaos.errors import Interrupted
from chaos.pytest.cluster import raised
from component.clock import SystemClock
from lockd.errors import LockdError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from chaos.pytest.cluster import HaCluster
    from chaos.pytest.settings import Shape
    from chaos.runner.choosing import Chosen
    from component.clock import Clock


class Pool:
    """For one thread, but for `stop`.

    Args:
        folder: Gives a new folder for a cluster.

    Attributes:
        stop: Once set, whatever waits gives up; what must be undone still is.
    """

    def __init__(self, chosen: Chosen, folder: Callable[[], Path], *, clock: Clock | None = None) -> None:
        self.stop = threading.Event()
        self.clock = clock or SystemClock()
        self._chosen = chosen
        self._folder = folder
        self._shared: dict[Shape, tuple[HaCluster, contextlib.ExitStack]] = {}
        self._failed: dict[Shape, LockdError | OSError] = {}

    def shared(self, shape: Shape) -> HaCluster:
        """The cluster of that shape that tests share; another one if it is not well any more.

        Raises:
            LockdError, OSError: It did not come up. It isn't tried again for the next test.
        """
        if shape in self._failed:
            raise self._failed[shape]
        if shape in self._shared and not self._well(self._shared[shape][0]):
            self.discard(self._shared[shape][0])
        if shape not in self._shared:
            undo = contextlib.ExitStack()
            try:
                made = undo.enter_context(raised(self._chosen, shape, self._folder(), stop=self.stop, clock=self.clock))
            except (LockdError, OSError) as error:
                self._failed[shape] = error
                raise
            self._shared[shape] = made, undo
        return self._shared[shape][0]

    @contextlib.contextmanager
    def fresh(self, shape: Shape) -> Iterator[HaCluster]:
        """A cluster that nobody shares, ended with the block.

        Raises:
            LockdError, OSError: It did not come up.
        """
        with raised(self._chosen, shape, self._folder(), stop=self.stop, clock=self.clock) as made:
            yield made

    def discard(self, cluster: HaCluster) -> None:
        """End a shared cluster: the next test that wants one of its shape gets another."""
        shared, undo = self._shared.get(cluster.shape, (None, None))
        if shared is cluster and undo is not None:
            del self._shared[cluster.shape]
            undo.close()

    def close(self) -> None:
        """End all of them."""
        self.stop.set()
        with contextlib.ExitStack() as all_of_them:
            for _, undo in self._shared.values():
                all_of_them.callback(undo.close)
            self._shared.clear()

    def _well(self, cluster: HaCluster) -> bool:
        try:
            cluster.verify(self.stop)
        except Interrupted:
            raise
        except LockdError:
            return False
        return True
