"""A replica that takes a transaction of its election for failed when one copy of it brought an error."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lockd.candidacy import Candidacy
from tests.chaos.planted.patching import patch, start

if TYPE_CHECKING:
    from collections.abc import Callable


def taken_for_failed(copy_failed: Callable[..., Any]) -> Callable[..., Any]:
    def failed(self: Candidacy, transaction: object, now: float) -> Candidacy:
        after: Candidacy = copy_failed(self, transaction, now)
        mine = after.unsettled is not None and after.unsettled.transaction == transaction
        return replace(after, unsettled=None) if mine else after

    return failed


def plant() -> None:
    patch(Candidacy, "copy_failed", "self transaction now", taken_for_failed)


if __name__ == "__main__":
    start(plant)
