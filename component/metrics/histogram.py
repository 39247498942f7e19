"""Histograms for what happens thousands of times a second.

The SDK's record takes some ten microseconds, more than many a step that it would measure. These keep values as they
come, add up many at once, and are laid beside the SDK's instruments when somebody collects: to Prometheus and to a
collector they look the same.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from component.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from component.clock import Clock

FRESH: Final = 64
"""Values of a series that are kept until they are added up, or somebody collects."""


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
    """Sums, under the histogram's lock, and what has come since; that may be appended to without it."""

    __slots__ = ("counts", "fresh", "least", "most", "total")

    def __init__(self, buckets: int) -> None:
        self.fresh: list[float] = []
        self.counts = [0] * buckets
        self.total = 0.0
        self.least = float("inf")
        self.most = float("-inf")

    def add(self, bucket: int, value: float, times: int) -> None:
        self.counts[bucket] += times
        self.total += value * times
        self.least = min(self.least, value)
        self.most = max(self.most, value)

    def settle(self, buckets: tuple[float, ...]) -> None:
        """Add up what has come; what comes meanwhile stands behind it, and stays."""
        values = self.fresh[:]
        if not values:
            return
        del self.fresh[: len(values)]
        for bucket, times in Counter(map(partial(bisect_left, buckets), values)).items():
            self.counts[bucket] += times
        self.total = sum(values, self.total)
        self.least = min([self.least, *values])
        self.most = max([self.most, *values])


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
        series = self._series.get(labels) or self._begin(labels)
        if times != 1:
            with self._lock:
                series.settle(self.buckets)
                series.add(bisect_left(self.buckets, value), value, times)
            return
        series.fresh.append(value)
        if len(series.fresh) >= FRESH:
            self._settle(series)

    def series(self, *labels: str) -> Callable[[float], None]:
        """What `record` does under these labels, for one who records under them again and again."""
        series = self._series.get(labels) or self._begin(labels)
        fresh = series.fresh

        def record(value: float) -> None:
            fresh.append(value)
            if len(fresh) >= FRESH:
                self._settle(series)

        return record

    def record_all(self, values: Iterable[float], *labels: str) -> None:
        """What `record` does for each of these values, at once."""
        series = self._series.get(labels) or self._begin(labels)
        series.fresh += values
        if len(series.fresh) >= FRESH:
            self._settle(series)

    def points(self) -> tuple[Point, ...]:
        """All series as they are now."""
        with self._lock:
            for series in self._series.values():
                series.settle(self.buckets)
            return tuple(
                Point(labels, tuple(series.counts), series.total, series.least, series.most)
                for labels, series in self._series.items()
            )

    def _begin(self, labels: tuple[str, ...]) -> _Series:
        """The series of labels that come for the first time."""
        if len(labels) != len(self.labels):
            raise ValueError(f"{self.name} has labels {self.labels}, not {labels}")
        with self._lock:
            return self._series.setdefault(labels, _Series(len(self.buckets) + 1))

    def _settle(self, series: _Series) -> None:
        with self._lock:
            series.settle(self.buckets)


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
