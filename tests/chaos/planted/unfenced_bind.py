"""A replica whose binds don't compare its term: they are taken as long as nobody else has touched the pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lockd.fencing import GuardedWrite
from replica import binding
from tests.chaos.planted.patching import patch, start

if TYPE_CHECKING:
    from lockd.ports import Txn


class Unfenced(GuardedWrite):
    """A guarded write without its guard."""

    def txn(self) -> Txn:
        return msgspec.structs.replace(GuardedWrite.txn(self), compares=())


def plant() -> None:
    patch(binding, "GuardedWrite", "guard groups", lambda _: Unfenced)


if __name__ == "__main__":
    start(plant)
