"""A replica: set up, then run until it is asked to stop or its lease is lost."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from component import logs
from component.clock import SystemClock
from component.endpoints import Endpoints
from component.health import Check, first_problem
from component.lifecycle import Group
from component.notify import Notifier
from lockd.errors import HistoryLost, PermissionDenied
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness
from replica.app.assembly import assemble
from replica.app.caches import Caches
from replica.app.contender import Hooks, contender_of
from replica.app.metrics import ReplicaMetrics
from replica.app.pages import configz_page, flagz_page, leader_page, statusz_page
from replica.app.reach import Reach
from replica.app.reporting import Report
from replica.app.resources import resources_page
from replica.cache import mutation
from replica.cache.informers import Informers
from replica.cache.lag import WatchLag

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock
    from component.exit import Watchdog
    from component.metrics import Metrics
    from lockd.leadership import Leadership
    from lockd.signals import Stop
    from replica.app.config import ReplicaConfig

SERVICE = "lockd-replica"

_log = logs.get("replica")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a replica ended.

    Attributes:
        code: The process's exit code.
        since: The moment that the exit bound counts from.
    """

    code: int
    since: float


class Replica:
    """Everything in one process. Make it with `setup`; tests run it in their own process on port 0."""

    def __init__(self, config: ReplicaConfig, metrics: Metrics, *, watchdog: Watchdog | None, clock: Clock) -> None:
        self.config = config
        self.clock = clock
        self.port = 0
        self._watchdog = watchdog
        self._stop = threading.Event()
        self._group = Group("replica", on_failure=self._failed, clock=clock)
        witness = Witness()
        connection = config.connection
        self._election_gateway = Gateway(connection, purpose="election", witness=witness, clock=clock)
        self._work_gateway = Gateway(connection, purpose="work", witness=witness, clock=clock)
        self._watch_gateway = Gateway(connection, purpose="caches", witness=witness, clock=clock)
        self._informers = Informers(
            self._watch_gateway,
            config.prefix,
            group=self._group,
            detector=mutation.from_environment(os.environ),
            clock=clock,
        )
        self._caches = Caches(self._informers, delayed=config.scheduler.delay_cache_until_active)
        self._assembly = assemble(config, self._informers, self._work_gateway, self._group, clock)
        lag = WatchLag(lambda: self._informers.barrier.applied, clock)
        hooks = Hooks(
            work=self._lead,
            on_gate=self._gate_moved,
            on_ending=self._guard_the_end,
            riders=self._assembly.scheduler.farewell,
            committed=lag.committed,
        )
        self.elector = contender_of(config, self._election_gateway, hooks, clock)
        self._metrics = ReplicaMetrics(self._informers.hub, lag, self.elector.trouble)
        checks = (
            Check("leaderElection", self.elector.check, ("healthz", "readyz")),
            Check("etcd", self.elector.trouble, ("readyz",)),
            Check("sched-handler-sync", self._caches.problem, ("readyz",)),
            Check("shutdown", lambda: "stopping" if self._stop.is_set() else None, ("readyz",)),
        )
        self._notifier = Notifier.of(os.environ)
        self._report = Report(
            self._notifier,
            unready=lambda: first_problem(checks, "readyz"),
            unwell=lambda: first_problem(checks, "healthz"),
            leads=self._leads,
            leader=lambda: self.elector.leader,
            clock=clock,
        )
        serving = config.serving
        authenticate, authorize = serving.who(clock)
        self._endpoints = Endpoints(
            serving.address,
            serving.port,
            group=self._group,
            checks=checks,
            metrics=metrics.render,
            routes={
                "/leader": leader_page(config, self.elector, clock),
                "/configz": configz_page(config),
                "/metrics/resources": resources_page(self._leads, self._informers.pods.lister),
                "/flagz": flagz_page(config),
                "/statusz": statusz_page(
                    config,
                    self.elector,
                    self._informers,
                    self._assembly.queue.pending,
                    clock=clock,
                ),
            },
            tls=serving.tls(),
            authenticate=authenticate,
            authorize=authorize,
            clock=clock,
        )
        self._outcome: Outcome | None = None

    # --- for the main program

    def request_stop(self) -> None:
        """Ask for the end: what is in flight is finished, the lease released, the exit code 0."""
        self._stop.set()
        self.elector.request_stop()

    def listen(self) -> int:
        """Serve HTTP; the port.

        Raises:
            CannotListen: As when the port is in use.
            ValueError: The certificate or key can't be used.
        """
        self.elector.listen()
        self.port = self._endpoints.start()
        if self._notifier:
            self._group.spawn("systemd", self._report.run, self._stop)
        if self.config.serving.exposed:
            _log.warning("http is served in the clear beyond this host", address=self.config.serving.address)
        return self.port

    def run(self) -> Outcome:
        """Wait for etcd, fill the caches, stand by, lead, end.

        Raises:
            Usage: The prefix holds Kubernetes' data.
            PermissionDenied: A wrong certificate, user or password.
            Occupied: It is to lead without an election, and others contend, or nothing could fence them.
        """
        reach = Reach(
            self._election_gateway,
            self.config.prefix,
            timeout=self.config.connection.command_timeout,
            stop=self._stop,
            clock=self.clock,
        )
        if not reach.wait(self._group):
            return self._ended_early()
        if not self._caches.delayed and not self._caches.fill(self._stop, over=self._is_over):
            return self._ended_early()
        return self._ended(self.elector.run(self._group, self._http))

    @property
    def _http(self) -> str:
        return f"{self.config.serving.address}:{self.port}" if self.port else ""

    def leave_steps(self) -> tuple[tuple[str, Callable[[float], object]], ...]:
        """What is left to do after `run`, each bounded by the seconds it is given."""
        return (
            ("candidate", self.elector.leave),
            ("threads", self._close),
        )

    # --- the beginning

    def _is_over(self) -> bool:
        return self._stop.is_set() or self._group.stop.is_set()

    # --- while it lasts

    def _lead(self, leadership: Leadership) -> None:
        """The work of a term, and beside it a look whether the caches are what etcd holds."""
        if self._caches.delayed and not self._caches.fill(
            leadership.lost, over=lambda: self._is_over() or leadership.lost.is_set(), tick=leadership.tick
        ):
            return
        self._informers.audit.request()
        self._assembly.scheduler.run(leadership)

    def _leads(self) -> bool:
        leadership = self.elector.leadership
        return leadership is not None and leadership.holds(self.clock.now())

    def _gate_moved(self, gate: float) -> None:
        """Whatever hangs, this process ends by the gate and the exit bound: counted from the anchor, not from now."""
        if self._watchdog is not None:
            self._watchdog.arm(gate + self.config.election.exit_seconds)

    def _guard_the_end(self, since: float) -> None:
        if self._watchdog is not None:
            self._watchdog.arm_by(since + self.config.election.exit_seconds)

    def _failed(self, error: BaseException) -> None:
        """A thread of the replica ended: it can't go on without it."""
        _log.error("a part of the replica failed", error=str(error), kind=type(error).__name__)
        if isinstance(error, HistoryLost):
            self.elector.lose_history()
        else:
            self.elector.fail()

    # --- the end

    def _ended(self, stop: Stop) -> Outcome:
        since = self.clock.now() if self.elector.ended_at is None else self.elector.ended_at
        self._stop.set()
        failed = self._group.failure is not None
        if stop.asked and not failed:
            _log.info("requested to terminate, exiting", released=stop.released)
            return Outcome(0, since)
        if failed:
            _log.error("replica failed, exiting", reason=stop.reason.value, released=stop.released)
        elif stop.led:
            _log.error("leaderelection lost, exiting", reason=stop.reason.value, released=stop.released)
        else:
            _log.error("exiting", reason=stop.reason.value)
        return Outcome(stop.exit_code or int(failed), since)

    def _ended_early(self) -> Outcome:
        failure = self._group.failure
        if isinstance(failure, PermissionDenied):
            raise failure
        return Outcome(0 if failure is None else 1, self.clock.now())

    def _close(self, seconds: float) -> None:
        self._stop.set()
        self._endpoints.close()
        self._assembly.broadcaster.close()
        self._assembly.queue.close()
        self._group.request_stop()
        self.elector.end()
        self._informers.close()
        left = self._group.join(seconds / 2)
        if left:
            _log.warning("threads did not end", threads=",".join(left))
        if self._watchdog is None:  # else the process ends it, and that is what the others wait for
            self.elector.close()
        for gateway in (self._election_gateway, self._work_gateway, self._watch_gateway):
            gateway.close()


def setup(
    config: ReplicaConfig, metrics: Metrics, *, watchdog: Watchdog | None = None, clock: Clock | None = None
) -> Replica:
    """Make a replica; nothing runs and nothing is written yet.

    Args:
        watchdog: The process's, for a replica that is the process; none for one in a test.

    Raises:
        ConfigError: A file of the connection can't be used, or a plugin can't be had.
        ValueError: The token file can't be used.
    """
    return Replica(config, metrics, watchdog=watchdog, clock=clock or SystemClock())
