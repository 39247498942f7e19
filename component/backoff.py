"""How long to wait before trying again: a pure function of the attempt and of a number drawn by the caller."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Delays that grow by a factor up to a maximum, each stretched by up to `jitter` of itself.

    Attributes:
        initial: Seconds before the first retry.
        maximum: Seconds that no delay exceeds before jitter.
        factor: What one attempt multiplies the delay by.
        jitter: The largest share that is added to a delay; 0.1 gives delays up to 1.1 x maximum.

    Raises:
        ValueError: With every problem in one line.
    """

    initial: float
    maximum: float
    factor: float = 2.0
    jitter: float = 0.0

    def __post_init__(self) -> None:
        rules = (
            (0 < self.initial < math.inf, f"initial must be above 0, not {self.initial}"),
            (self.initial <= self.maximum < math.inf, f"maximum must be initial or more, not {self.maximum}"),
            (1 <= self.factor < math.inf, f"factor must be 1 or more, not {self.factor}"),
            (0 <= self.jitter < math.inf, f"jitter must be 0 or more, not {self.jitter}"),
        )
        if problems := [text for holds, text in rules if not holds]:
            raise ValueError("invalid backoff: " + "; ".join(problems))

    def delay(self, attempt: int, draw: float = 0.0) -> float:
        """Seconds to wait after failed attempt number `attempt`, the first being 0.

        Args:
            attempt: Failures before this one; what lies below 0 counts as 0.
            draw: A number in [0, 1] that places the delay between no jitter and all of it.
        """
        try:
            grown = self.initial * self.factor ** max(attempt, 0)
        except OverflowError:
            grown = self.maximum
        return min(grown, self.maximum) * (1 + self.jitter * draw)
