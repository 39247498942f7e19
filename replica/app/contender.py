"""How a replica comes to lead: by an election among its peers, or by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from component import logs, tracing
from lockd.elector import Callbacks, Elector
from lockd.solo import Solo
from lockd.store import EtcdRecordStore
from lockd.telemetry import ElectionTelemetry
from replica.app.peers import Peers

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock
    from component.lifecycle import Group
    from lockd.election import Election
    from lockd.etcd.gateway import Gateway
    from lockd.leadership import Leadership
    from lockd.ports import Put
    from lockd.signals import Stop
    from replica.app.config import ReplicaConfig

_log = logs.get("replica")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What a contender calls.

    Attributes:
        work: With the term, on a thread of its own.
        on_gate: Given the moment until which the term holds, whenever that moves.
        on_ending: Given the moment at which the end began.
        riders: Given the token, the puts that the release carries.
        committed: Given the revision of each change of the lease that is seen.
    """

    work: Callable[[Leadership], None]
    on_gate: Callable[[float], None]
    on_ending: Callable[[float], None]
    riders: Callable[[int], tuple[Put, ...]]
    committed: Callable[[int], None]


class Contender(Protocol):
    """What leads, or may come to."""

    @property
    def leadership(self) -> Leadership | None:
        """The term, once there is one."""

    @property
    def leader(self) -> str:
        """The identity known to lead; "" for none."""

    @property
    def watches(self) -> str:
        """The identity of the leader whose process it watches over; "" for none."""

    @property
    def ended_at(self) -> float | None:
        """When the end began."""

    def check(self) -> str | None:
        """The health check `leaderElection`."""

    def trouble(self) -> str | None:
        """A readiness check: why etcd doesn't serve it."""

    def request_stop(self) -> None:
        """Finish what is in flight, release, end."""

    def fail(self) -> None:
        """A part of the process that can't be done without has ended."""

    def lose_history(self) -> None:
        """Another part of the process found that etcd was restored, wiped or exchanged."""

    def listen(self) -> None:
        """Take what ports it needs."""

    def run(self, group: Group, http: str) -> Stop:
        """Contend, lead, end.

        Args:
            http: Where this replica serves HTTP, for its peers.
        """

    def leave(self, seconds: float) -> None:
        """After `run`: leave nothing behind that others would take for a live replica."""

    def end(self) -> None:
        """Stop its threads."""

    def close(self) -> None:
        """End the connections of peers, as the end of the process does."""


def contender_of(config: ReplicaConfig, gateway: Gateway, hooks: Hooks, clock: Clock) -> Contender:
    """The contender that the configuration asks for.

    Args:
        gateway: For nothing else.
    """
    return (Elected if config.leader_elect else Alone)(config, gateway, hooks, clock)


class Elected:
    """A candidate among its peers."""

    def __init__(self, config: ReplicaConfig, gateway: Gateway, hooks: Hooks, clock: Clock) -> None:
        self._hooks = hooks
        self._telemetry = ElectionTelemetry(config.election.identity, config.lock, clock)
        self._elector = Elector(
            config.election,
            config.lock,
            EtcdRecordStore(gateway, config.lock, clock=clock),
            clock=clock,
            traceparent=tracing.new_traceparent(),
            callbacks=Callbacks(
                on_started_leading=hooks.work,
                on_new_leader=self._telemetry.new_leader,
                on_gate=hooks.on_gate,
                on_step=self._step,
                on_work_error=_failed,
                on_degraded=self._telemetry.degraded,
                riders=hooks.riders,
            ),
        )
        self._peers = Peers(config, gateway, self._elector.accuse, clock=clock)
        self.check = self._elector.check
        self.trouble = self._elector.trouble
        self.request_stop = self._elector.request_stop
        self.fail = self._elector.fail
        self.lose_history = self._elector.lose_history
        self.end = self._peers.end
        self.close = self._peers.close

    @property
    def leadership(self) -> Leadership | None:
        return self._elector.leadership

    @property
    def leader(self) -> str:
        return self._elector.leader

    @property
    def watches(self) -> str:
        return self._peers.watches

    @property
    def ended_at(self) -> float | None:
        ending = self._elector.election.ending
        return ending.since if ending is not None else None

    def listen(self) -> None:
        self._elector.advertise(self._peers.listen())

    def run(self, group: Group, http: str) -> Stop:
        candidate = self._peers.start(group, http=http)
        _log.info("standing by", identity=candidate.identity, http=candidate.http)
        stop = self._elector.run()
        self._peers.say_goodbye(self._elector.election)
        return stop

    def leave(self, seconds: float) -> None:
        self._peers.leave(self._elector.election, self.leadership, seconds)

    def _step(self, before: Election, after: Election, now: float) -> None:
        if after.ending is not None and before.ending is None:
            self._hooks.on_ending(after.ending.since)
        if (lease := after.observed.lease) is not None and lease is not before.observed.lease:
            self._hooks.committed(lease.revision)
        self._peers.step(after)
        self._telemetry.step(before, after, now)


class Alone:
    """One that leads at once, and knows no peers."""

    def __init__(self, config: ReplicaConfig, gateway: Gateway, hooks: Hooks, clock: Clock) -> None:
        self._solo = Solo(
            config.election,
            config.lock,
            gateway,
            EtcdRecordStore(gateway, config.lock, clock=clock).watch,
            clock=clock,
            work=hooks.work,
            on_ending=hooks.on_ending,
            on_work_error=_failed,
            riders=hooks.riders,
            traceparent=tracing.new_traceparent(),
        )
        self.request_stop = self._solo.request_stop
        self.fail = self._solo.fail
        self.lose_history = self._solo.lose_history

    @property
    def leadership(self) -> Leadership | None:
        return self._solo.leadership

    @property
    def leader(self) -> str:
        return self._solo.leader

    @property
    def watches(self) -> str:
        return ""

    @property
    def ended_at(self) -> float | None:
        return self._solo.ended_at

    def check(self) -> str | None:
        return None  # no renewal can be late

    def trouble(self) -> str | None:
        return None  # and etcd serves no election

    def run(self, group: Group, http: str) -> Stop:  # noqa: ARG002  # nobody is told, and the caller keeps the threads
        return self._solo.run()

    def listen(self) -> None:
        """No peer connects."""

    def leave(self, seconds: float) -> None:
        """No candidate key is there."""

    def end(self) -> None:
        """It has no threads but that of the work."""

    def close(self) -> None:
        """No peer is connected."""


def _failed(error: BaseException) -> None:
    _log.exception("work failed", error)
