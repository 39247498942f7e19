"""A replica whose handler of pods loses the events that bring a pod its node, unless the bind is its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replica.handlers import PodHandler
from tests.chaos.planted.patching import patch, start

if TYPE_CHECKING:
    from collections.abc import Callable

    from replica.api.pods import Pod


def losing(on_update: Callable[[PodHandler, Pod, Pod], None]) -> Callable[[PodHandler, Pod, Pod], None]:
    def told(self: PodHandler, old: Pod, new: Pod) -> None:
        if old.node or not new.node or self._assumed.is_assumed(new.uid):
            on_update(self, old, new)

    return told


def plant() -> None:
    patch(PodHandler, "on_update", "self old new", losing)


if __name__ == "__main__":
    start(plant)
