"""The lock service's numbers: of all locks together, since their names are the clients' to choose."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opentelemetry import metrics

from component.metrics import observed
from component.metrics.histogram import histogram
from lockd.election_metrics import RENEW_BUCKETS, TAKEOVERS, Unmetered
from lockd.signals import ORDERLY, StopReason

if TYPE_CHECKING:
    from collections.abc import Callable

CALL_BUCKETS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

RESUME: Final = "resume"
"""How a term begins for a lockd that a client takes it up at."""


class ServeMetrics(Unmetered):
    """Told by all elections and calls of a daemon.

    Args:
        degraded: Does etcd not serve the daemon?
    """

    def __init__(self, degraded: Callable[[], bool]) -> None:
        self._degraded = degraded
        meter = metrics.get_meter("lockd")
        self._begun = meter.create_counter("lockd_serve_terms", description="Terms begun for clients, by how.")
        self._lost = meter.create_counter(
            "lockd_serve_terms_lost", description="Terms that ended but by their client's word, by reason."
        )
        self._renewals = histogram(
            "lockd_serve_renew_duration",
            unit="s",
            buckets=RENEW_BUCKETS,
            description="From the first send of a renewal to the news that it was committed.",
        )
        self._calls = histogram(
            "lockd_serve_call_duration",
            unit="s",
            labels=("method", "code"),
            buckets=CALL_BUCKETS,
            description="Time of a call that is no stream, by method and gRPC's status.",
        )
        observed.gauge("lockd_etcd_degraded", self._read, description="1 while etcd does not serve a part.")
        for takeover in (*TAKEOVERS, RESUME):
            self._begun.add(0, {"takeover": takeover})
        for reason in set(StopReason) - ORDERLY:
            self._lost.add(0, {"reason": reason.value})

    def begun(self, takeover: str, *, resumed: bool) -> None:
        """A client leads."""
        self._begun.add(1, {"takeover": RESUME if resumed else takeover})

    def answered(self, method: str, code: str, seconds: float) -> None:
        """A call that is no stream has its answer."""
        self._calls.record(seconds, method, code)

    def renewed(self, seconds: float, copies: int, gate: float) -> None:  # noqa: ARG002 - of one term, and there are many
        self._renewals.record(seconds)

    def lost(self, reason: str, *, asked: bool) -> None:
        if not asked:
            self._lost.add(1, {"reason": reason})

    def _read(self) -> observed.Values:
        return [(int(self._degraded()), {"part": "calls"})]
