"""What a replica tells in numbers of its caches and of how etcd serves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from component.metrics import observed

if TYPE_CHECKING:
    from collections.abc import Callable

    from replica.cache.lag import WatchLag
    from replica.cache.watch_hub import WatchHub


class ReplicaMetrics:
    """The instruments; to be kept by whoever they are about.

    Args:
        trouble: Why etcd doesn't serve the election; None when it does.
    """

    def __init__(self, hub: WatchHub, lag: WatchLag, trouble: Callable[[], str | None]) -> None:
        self._hub = hub
        self._lag = lag
        self._trouble = trouble
        observed.gauge(
            "lockd_watch_lag",
            self._read_lag,
            unit="s",
            description="For how long the caches have lacked a change that is known to be committed; 0 for none.",
        )
        observed.counter(
            "lockd_watch_lists", self._read_lists, description="Lists of all that is cached, the first one included."
        )
        observed.gauge("lockd_etcd_degraded", self._read_degraded, description="1 while etcd does not serve a part.")

    def _read_lag(self) -> observed.Values:
        return [(self._lag.seconds(), {})]

    def _read_lists(self) -> observed.Values:
        return [(self._hub.lists, {})]

    def _read_degraded(self) -> observed.Values:
        return [
            (int(self._trouble() is not None), {"part": "election"}),
            (int(self._hub.degraded), {"part": "caches"}),
        ]
