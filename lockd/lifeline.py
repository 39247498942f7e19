"""A holder that is a client elsewhere: what it has said of itself, and the term that it takes up again.

Such a holder renews by keep-alives: a renewal is made only for one that is new, and never by the election's own timer.
So a client that is gone is not kept in office by the process that speaks for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lockd.fencing import Token
    from lockd.record import TermValue

NONE = -1
"""In place of a keep-alive's number: none yet."""

LEAST_GAP = 0.5
"""Renewals of an eager client are apart by this part of a retry period; its newest keep-alive waits for the next."""


@dataclass(frozen=True, slots=True)
class Lifeline:
    """The keep-alives of a client, by their numbers; number 0 is the request that began its stream.

    Attributes:
        heard_at: When the newest arrived, in seconds on the election's clock.
        heard: Its number.
        begun: The newest number when the last acquire or renewal was begun: that one answers it.
        answered: The newest number whose acquire or renewal is known to be committed.
    """

    heard_at: float
    heard: int = 0
    begun: int = NONE
    answered: int = NONE

    def renew_at(self, sent: float, period: float) -> float:
        """When the next renewal is due, if the last one was first sent at `sent`; -inf: none was, and one is due."""
        return sent + LEAST_GAP * period if self.due or sent == -math.inf else math.inf

    @property
    def due(self) -> bool:
        """Is there a keep-alive that no renewal has been begun for?"""
        return self.heard > self.begun

    def hear(self, number: int, now: float) -> Lifeline:
        """This and a keep-alive; one that isn't new says nothing."""
        return replace(self, heard=number, heard_at=now) if number > self.heard else self

    def begin(self) -> Lifeline:
        """An acquire or a renewal is sent, for all that was heard before."""
        return replace(self, begun=self.heard)

    def commit(self) -> Lifeline:
        """The one begun last is committed."""
        return replace(self, answered=self.begun)


@dataclass(frozen=True, slots=True)
class Claim:
    """A term that was begun through another process, or an earlier stream, and is to go on here.

    Attributes:
        term: What the term key must hold, byte for byte: to know it is to be the holder.
    """

    token: Token
    term: TermValue
