"""Clocks of hosts that disagree: each has its own rate, and may stand still while its host is suspended."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(slots=True)
class HostClock:
    """Local seconds as a function of true seconds, never going back.

    Attributes:
        rate: Local seconds for each true one, while it runs.
    """

    rate: float
    offset: float = 0.0
    _spans: list[tuple[float, float, float]] = field(init=False)
    """(true start, local start, rate), in their order."""

    def __post_init__(self) -> None:
        self._spans = [(0.0, self.offset, self.rate)]

    def local(self, true: float) -> float:
        start, local, rate = next(span for span in reversed(self._spans) if span[0] <= true)
        return local + (true - start) * rate

    def true(self, local: float) -> float:
        """When this local moment is reached; inf if it is not, as far as is known now."""
        for index, (start, begun, rate) in enumerate(self._spans):
            if rate == 0.0:
                continue
            end = self._spans[index + 1][0] if index + 1 < len(self._spans) else math.inf
            moment = start + (local - begun) / rate
            if moment < end:
                return max(moment, start)
        return math.inf

    def stop(self, true: float) -> None:
        self._spans.append((true, self.local(true), 0.0))

    def go_on(self, true: float) -> None:
        self._spans.append((true, self.local(true), self.rate))
