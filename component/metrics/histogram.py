"""Histograms for what happens thousands of times a second.

The SDK's record takes some ten microseconds, more than many a step that it would measure. These add up here, and are
laid beside the SDK's instruments when somebody collects: to Prometheus and to a collector they look the same.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from component.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from component.clock import Clock


@dataclass(frozen=True, slots=True)
class Point:
    """One series at one moment.

    Attributes:
        labels: Values in the order of the histogram's label names.
        counts: By bucket; the last one holds what exceeds every bound.
    """

    labels: tuple[str, ...]
    counts: tuple[int, ...]
    total: float
    least: float
    most: float


class _Series:
    __slots__ = ("counts", "least", "most", "total")

    def __init__(self, buckets: int) -> None:
        self.counts = [0] * buckets
        self.total = 0.0
        self.least = float("inf")
        self.most = float("-inf")


class Histogram:
    """Made by `histogram`. Thread-safe.

    Attributes:
        buckets: Upper bounds, each belonging to its bucket.
        started: Wall time, seconds since 1970.
    """

    def __init__(
        self, name: str, *, buckets: Sequence[float], labels: Sequence[str], unit: str, description: str, clock: Clock
    ) -> None:
        self.name = name
        self.buckets = tuple(buckets)
        self.labels = tuple(labels)
        self.unit = unit
        self.description = description
        self.started = clock.wall()
        self._lock = threading.Lock()
        # One that has no labels has its one series from the start, as a counter begins at 0.
        self._series: dict[tuple[str, ...], _Series] = {} if labels else {(): _Series(len(self.buckets) + 1)}

    def record(self, value: float, *labels: str, times: int = 1) -> None:
        """Count a value under these labels, in the order of the histogram's label names; `times`: so many like it."""
        with self._lock:
            series = self._series.get(labels)
            if series is None:
                if len(labels) != len(self.labels):
                    raise ValueError(f"{self.name} has labels {self.labels}, not {labels}")
                series = self._series[labels] = _Series(len(self.buckets) + 1)
            series.counts[bisect_left(self.buckets, value)] += times
            series.total += value * times
            series.least = min(series.least, value)
            series.most = max(series.most, value)

    def points(self) -> tuple[Point, ...]:
        """All series as they are now."""
        with self._lock:
            return tuple(
                Point(labels, tuple(series.counts), series.total, series.least, series.most)
                for labels, series in self._series.items()
            )


class _Made:
    """The process's histograms by name, as the SDK keeps its instruments."""

    by_name: dict[str, Histogram] = {}  # noqa: RUF012 - one for the process on purpose
    lock = threading.Lock()


def histogram(
    name: str,
    *,
    buckets: Sequence[float],
    labels: Sequence[str] = (),
    unit: str = "",
    description: str = "",
    clock: Clock | None = None,
) -> Histogram:
    """The histogram of this name: a second call gives what the first one made.

    Args:
        name: As for the SDK's instruments: Prometheus gets it with the unit at its end.
        buckets: Upper bounds, ascending.
    """
    with _Made.lock:
        found = _Made.by_name.get(name)
        if found is None:
            found = Histogram(
                name,
                buckets=buckets,
                labels=labels,
                unit=unit,
                description=description,
                clock=clock or SystemClock(),
            )
            _Made.by_name[name] = found
        return found


def histograms() -> tuple[Histogram, ...]:
    """All that were made."""
    with _Made.lock:
        return tuple(_Made.by_name.values())
