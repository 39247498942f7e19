"""The numbers of elections: client-go's names where it has them, and our own.

Those of one lock that this process contends for are `LockMetrics`. A process that has electors by the hundred, for
locks that others name, keeps numbers of all together, or none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from opentelemetry import metrics

from component.metrics import exponential_buckets
from component.metrics.histogram import histogram

if TYPE_CHECKING:
    from component.clock import Clock
    from component.metrics.histogram import Histogram

TAKEOVERS: Final = ("first", "release", "expiry", "evidence")
"""How a term may begin, as the election record says it."""

RENEW_BUCKETS: Final = exponential_buckets(0.001, 2, 15)
FAILOVER_BUCKETS: Final = exponential_buckets(0.001, 2, 18)


def failovers() -> Histogram:
    """What a takeover took: labels `name`, `phase` and `takeover`. The first term of a lock takes nothing over."""
    return histogram(
        "lockd_failover_duration",
        unit="s",
        labels=("name", "phase", "takeover"),
        buckets=FAILOVER_BUCKETS,
        description="What a takeover took on the successor, by phase: detection, election, warm_up, first_bind.",
    )


class ElectionMetrics(Protocol):
    """Told what happens to an election. Every method returns at once and never raises."""

    def observed(self, transitions: int) -> None:
        """The newest election record seen tells of so many changes of leader."""

    def reported(self, refused: int) -> None:
        """Another replica ended whose writes etcd had refused."""

    def took_over(self, takeover: str, *, detection: float, election: float) -> None:
        """An acquire that was no lock's first has won: seconds from the last sign of life to its sending, and on."""

    def started(self, takeover: str, gate: float) -> None:
        """A term began (or goes on in this process), until `gate` if nothing renews it."""

    def renewed(self, seconds: float, copies: int, gate: float) -> None:
        """A renewal was settled, so long after its first copy was sent; the term lasts until `gate` now."""

    def lost(self, reason: str, *, asked: bool) -> None:
        """The gate of a term has closed; `asked`: its end was asked for."""


class Unmetered:
    """Keeps no numbers. Others keep some of what it is told."""

    def observed(self, transitions: int) -> None:
        """Not kept."""

    def reported(self, refused: int) -> None:
        """Not kept."""

    def took_over(self, takeover: str, *, detection: float, election: float) -> None:
        """Not kept."""

    def started(self, takeover: str, gate: float) -> None:
        """Not kept."""

    def renewed(self, seconds: float, copies: int, gate: float) -> None:
        """Not kept."""

    def lost(self, reason: str, *, asked: bool) -> None:
        """Not kept."""


class LockMetrics:
    """The numbers of the one lock that a process contends for. What only grows is there from the start, at 0.

    Args:
        name: Of the lock: the label `name`, as client-go has it.
    """

    def __init__(self, name: str, clock: Clock) -> None:
        self._name = {"name": name}
        self._clock = clock
        self._gate: float | None = None
        self._renewed_wall: float | None = None
        self._record_transitions: int | None = None
        self._failovers = failovers()
        meter = metrics.get_meter("lockd")
        self._master = meter.create_gauge(
            "leader_election_master_status", description="1 while this process leads, else 0."
        )
        self._slow = meter.create_counter(
            "leader_election_slowpath", description="Renewals that needed more than their first transaction."
        )
        self._transitions = meter.create_counter(
            "lockd_leader_transitions", description="Terms begun by this process, by how they began."
        )
        self._renewals = meter.create_histogram(
            "lockd_lease_renew_duration",
            unit="s",
            description="From the first send of a renewal to the news that it was committed.",
            explicit_bucket_boundaries_advisory=RENEW_BUCKETS,
        )
        self._reported = meter.create_counter(
            "lockd_reported_fencing_rejections",
            description="Writes of other replicas that etcd refused, as they told by their candidate keys.",
        )
        meter.create_observable_gauge(
            "lockd_lease_remaining", [self._remaining], "s", "Seconds until the gate of the term closes."
        )
        meter.create_observable_gauge(
            "lockd_lease_last_renew_timestamp",
            [lambda _: self._if_known(self._renewed_wall)],
            "s",
            "When the last renewal was settled, in seconds since 1970.",
        )
        meter.create_observable_gauge(
            "lockd_record_leader_transitions",
            [lambda _: self._if_known(self._record_transitions)],
            description="Changes of leader since the lock was first taken, by the newest election record seen.",
        )
        self._master.set(0, self._name)
        for counter in (self._slow, self._reported):
            counter.add(0, self._name)
        for takeover in TAKEOVERS:
            self._transitions.add(0, {**self._name, "takeover": takeover})

    def observed(self, transitions: int) -> None:
        self._record_transitions = transitions

    def reported(self, refused: int) -> None:
        self._reported.add(refused, self._name)

    def took_over(self, takeover: str, *, detection: float, election: float) -> None:
        for phase, seconds in (("detection", detection), ("election", election)):
            self._failovers.record(seconds, self._name["name"], phase, takeover)

    def started(self, takeover: str, gate: float) -> None:
        self._gate, self._renewed_wall = gate, self._clock.wall()
        self._master.set(1, self._name)
        self._transitions.add(1, {**self._name, "takeover": takeover})

    def renewed(self, seconds: float, copies: int, gate: float) -> None:
        self._gate, self._renewed_wall = gate, self._clock.wall()
        self._renewals.record(seconds, self._name)
        if copies > 1:
            self._slow.add(1, self._name)

    def lost(self, reason: str, *, asked: bool) -> None:  # noqa: ARG002 - it ends the process, whose log tells why
        self._gate = None
        self._master.set(0, self._name)

    def _remaining(self, _: metrics.CallbackOptions) -> list[metrics.Observation]:
        gate = self._gate
        return self._if_known(None if gate is None else max(0.0, gate - self._clock.now()))

    def _if_known(self, value: float | None) -> list[metrics.Observation]:
        return [] if value is None else [metrics.Observation(value, self._name)]
