"""How late renewals are, out of etcd's history: a watch on the lease key alone notes when each was committed."""

from __future__ import annotations

import statistics
import threading
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

from lockd.etcd.model import WatchBatch, WatchTarget
from lockd.record import LeaderRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from component.clock import Clock
    from lockd.etcd.gateway import Gateway


@dataclass(frozen=True, slots=True)
class Seen:
    """A record of the lease key, and when the watch brought it, on CLOCK_BOOTTIME."""

    holder: str
    at: float


class Renewals:
    """Watches a lease key until closed."""

    def __init__(self, gateway: Gateway, key: str, *, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: list[Seen] = []
        self._watch = gateway.watch([WatchTarget(key, prefix=False, start_revision=0)], self._sink)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.close()

    def seen(self) -> tuple[Seen, ...]:
        with self._lock:
            return tuple(self._seen)

    def _sink(self, item: object) -> None:
        if not isinstance(item, WatchBatch):
            return
        at = self._clock.now()
        records = [LeaderRecord.parse(event.value or b"") for event in item.events]
        with self._lock:
            self._seen += [Seen(record.holder_identity, at) for record in records if record is not None]


def off_period(seen: Sequence[Seen], period: float, *, since: float, until: float) -> tuple[float, ...]:
    """How far each time between two renewals of one holder was from the period, in seconds.

    Args:
        since: Renewals before it, or after `until`, don't count.
    """
    counted = [one for one in seen if since <= one.at <= until]
    return tuple(abs(b.at - a.at - period) for a, b in pairwise(counted) if a.holder == b.holder)


def summary(off: Sequence[float]) -> dict[str, Any]:
    """Percentiles in milliseconds."""
    if not off:
        return {"count": 0}
    p99 = statistics.quantiles(off, n=100, method="inclusive")[98] if len(off) > 1 else off[0]
    return {
        "count": len(off),
        "p50Ms": round(1000 * statistics.median(off), 1),
        "p99Ms": round(1000 * p99, 1),
        "maxMs": round(1000 * max(off), 1),
    }
