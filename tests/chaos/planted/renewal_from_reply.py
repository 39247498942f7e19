"""A replica that counts a renewal from the moment at which it hears of it, as client-go does, not from its send."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lockd.candidacy import Candidacy
from lockd.ports import Renew
from tests.chaos.planted.patching import patch, start

if TYPE_CHECKING:
    from collections.abc import Callable


def from_reply(settle: Callable[..., Any]) -> Callable[..., Any]:
    def settled(self: Candidacy, revision: int, now: float) -> Candidacy:
        after: Candidacy = settle(self, revision, now)
        renewed = self.unsettled is not None and isinstance(self.unsettled.transaction, Renew)
        return replace(after, hold=replace(after.hold, sent=now)) if renewed and after.hold is not None else after

    return settled


def plant() -> None:
    patch(Candidacy, "settle", "self revision now", from_reply)


if __name__ == "__main__":
    start(plant)
