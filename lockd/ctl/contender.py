"""One candidacy for a lock on a command's behalf: the command runs while the lock is held, and ends before it isn't."""

from __future__ import annotations

import errno
import math
import os
import queue
import signal
import socket
import threading
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from component import tracing
from component.clock import LONGEST_WAIT
from component.heed import heed
from component.job import FOR_ALL, FOR_ONE, Job
from component.lifecycle import Group
from component.ward import Ended, NotStarted
from lockd.candidate import Candidate, Registration
from lockd.elector import Callbacks, Elector
from lockd.record import display_time
from lockd.signals import ORDERLY, Stop, StopReason
from lockd.store import EtcdRecordStore
from lockd.telemetry import ElectionTelemetry

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock
    from component.exit import Watchdog
    from component.ward import Event
    from lockd.config import ElectionConfig
    from lockd.election import Election
    from lockd.etcd.gateway import Gateway
    from lockd.leadership import Leadership
    from lockd.observed import Observed
    from lockd.ports import LockName

FAILED: Final = 1
NOT_HAD: Final = 3
"""The exit code of one who didn't get the lock."""

NOT_FOUND: Final = 127
NOT_EXECUTABLE: Final = 126

ENDS: Final = frozenset({signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM})
"""What ends one who still waits for the lock."""

KILL_SHARE: Final = 0.25
"""The part of the exit bound that the warden has for killing the command, before it is killed too."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for the lock.

    Attributes:
        only_if_free: Not at all while its holder lives.
        until: Until then; None: for ever.
        silence: With `only_if_free`, seconds in which etcd must have said who holds it.
    """

    only_if_free: bool
    until: float | None
    silence: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended.

    Attributes:
        told: What a person needs to know, a line each.
        since: The moment that the exit bound counts from.
        harmless: Nothing runs any more that another holder would have to fear.
    """

    code: int
    told: tuple[str, ...]
    since: float
    harmless: bool


def living_holder(before: Observed, after: Observed, identity: str) -> str:
    """The other holder that a change of the record shows to be alive; "" for none.

    One look tells nothing: the record of a dead holder looks the same until somebody has watched it for its duration.
    """
    if before.lease is None or after.lease == before.lease or after.record is None:
        return ""
    holder = after.record.holder_identity
    return holder if holder != identity else ""


class Contender:
    """Contends for a lock, and runs a command while it is held.

    Args:
        cluster: etcd's cluster id, for the command's fences.
        descriptors: Passed on to the command beside the standard ones.
    """

    def __init__(
        self,
        config: ElectionConfig,
        lock: LockName,
        gateway: Gateway,
        command: tuple[str, ...],
        *,
        patience: Patience,
        cluster: Callable[[], int],
        descriptors: tuple[int, ...],
        watchdog: Watchdog,
        clock: Clock,
    ) -> None:
        self._config = config
        self._lock = lock
        self._command = command
        self._patience = patience
        self._cluster = cluster
        self._watchdog = watchdog
        self._clock = clock
        self._inbox: queue.SimpleQueue[Event | signal.Signals | Stop] = queue.SimpleQueue()
        self._job = Job(command, self._inbox.put, descriptors)
        self._group = Group("lockctl", clock=clock)
        self._choice = threading.Lock()
        self._committed = False
        self._refusal = ""
        self._killer: signal.Signals | None = None
        self._problem = ""
        self._caller = tracing.caller()
        self._telemetry = ElectionTelemetry(config.identity, lock, clock, quiet=True, caller=self._caller)
        candidate = Candidate(
            identity=config.identity,
            hostname=socket.gethostname(),
            pid=os.getpid(),
            since=display_time(clock.wall()),
            version=version("lockd"),
        )
        self._registration = Registration(gateway, lock, candidate, lease_duration=config.lease_duration, clock=clock)
        self._elector = Elector(
            config,
            lock,
            EtcdRecordStore(gateway, lock, clock=clock),
            clock=clock,
            traceparent=tracing.new_traceparent(self._caller),
            callbacks=Callbacks(
                on_started_leading=self._lead,
                on_new_leader=self._telemetry.new_leader,
                on_gate=self._gate_moved,
                on_step=self._step,
                on_degraded=self._telemetry.degraded,
            ),
        )

    def run(self) -> Outcome:
        """From the first attempt to the end of the command. For the main thread: signals arrive there."""
        ignored = {number for number in FOR_ALL | FOR_ONE if signal.getsignal(number) is signal.SIG_IGN}
        heed((FOR_ALL | FOR_ONE) - ignored, self._inbox.put)  # nohup, and a script's background, stay what they are
        began = self._clock.now()
        self._group.spawn("candidate", self._registration.run, self._group.stop)
        self._group.spawn("elector", self._run_elector)
        while True:
            try:
                item = self._inbox.get(timeout=LONGEST_WAIT)
            except queue.Empty:
                pass
            else:
                match item:
                    case Stop():
                        return self._outcome(item)
                    case signal.Signals():
                        self._signal(item)
                    case _:
                        self._job.take(item)
            self._look_at_the_time(began)

    def revoke(self, seconds: float) -> None:
        """Take the candidate's key away."""
        self._group.request_stop()
        self._registration.revoke(timeout=seconds)

    # --- on the main thread

    def _signal(self, number: signal.Signals) -> None:
        with self._choice:
            if not self._committed and number in ENDS:
                self._killer = self._killer or number
        if self._committed:
            self._job.pass_on(number)
        elif number in ENDS:
            self._elector.request_stop()
        elif number is signal.SIGTSTP:
            signal.raise_signal(signal.SIGSTOP)

    def _look_at_the_time(self, began: float) -> None:
        now, patience = self._clock.now(), self._patience
        if self._committed or self._refusal:
            return
        if patience.until is not None and now >= patience.until:
            self._refuse(self._elector.leader, "was not to be had in time")
        silent = self._elector.election.observed.lease is None
        if patience.only_if_free and silent and now >= began + patience.silence:
            self._refuse("", "is not known: etcd does not answer")

    def _outcome(self, stop: Stop) -> Outcome:
        ending = self._elector.election.ending
        since = ending.since if ending is not None else self._clock.now()
        code, told = self._judge(stop)
        return Outcome(code, told, since, self._job.over)

    def _judge(self, stop: Stop) -> tuple[int, tuple[str, ...]]:
        lock, program, ended = f"{self._lock.namespace}/{self._lock.name}", self._command[0], self._job.ended
        if self._refusal:
            return NOT_HAD, (self._refusal,)
        if self._killer:
            return 128 + self._killer, ()
        if self._problem:
            return FAILED, (self._problem,)
        if isinstance(ended, NotStarted):
            code = NOT_FOUND if ended.errno == errno.ENOENT else NOT_EXECUTABLE
            return code, (f"{program} can't be run: {os.strerror(ended.errno)}",)
        lost = stop.reason not in ORDERLY | {StopReason.WORK_RETURNED} or self._job.warned
        if lost:
            what = f": {program} was ended" if self._job.begun else ""
            return FAILED, (f"the lock {lock} was lost ({self._reason(stop)}){what}",)
        if isinstance(ended, Ended):
            return ended.code, ()
        return FAILED, (f"{program} was killed together with the process that kept it",)

    def _reason(self, stop: Stop) -> str:
        return "it could not be renewed in time" if self._job.warned else stop.reason.value

    # --- on other threads

    def _run_elector(self) -> None:
        try:
            self._inbox.put(self._elector.run())
        except BaseException as error:
            self._problem = f"the election failed: {error}"
            self._inbox.put(Stop(StopReason.PART_FAILED, led=True, released=False, asked=False))
            raise

    def _refuse(self, holder: str, why: str) -> None:
        by = f", it is held by {holder}" if holder else ""
        with self._choice:
            if self._committed or self._refusal:
                return
            self._refusal = f"the lock {self._lock.namespace}/{self._lock.name} {why}{by}"
        self._elector.request_stop()

    def _lead(self, leadership: Leadership) -> None:
        """The work of a term: returns once nothing of the command is left."""
        leadership.tick(math.inf)  # whether the command makes progress is its own business
        with self._choice:  # from here on a signal is the command's, and no limit on waiting counts
            if self._refusal or self._killer:
                return
            self._committed = True
        warn_at, kill_at = self._limits(leadership.deadline)
        try:
            ward = self._job.start(self._environment(leadership), warn_at=warn_at, kill_at=kill_at)
        except OSError as error:
            self._problem = f"{self._command[0]} can't be run: {error.strerror}"
            return
        self._job.until(*self._limits(leadership.deadline))  # it may have moved meanwhile, or be over
        if leadership.lost.is_set():
            self._job.kill(self._kill_bound())
        elif leadership.draining.is_set():
            self._job.ask()
        while not self._clock.wait(ward.gone, LONGEST_WAIT):
            pass  # no release before: etcd can't refuse what the command does

    def _environment(self, leadership: Leadership) -> dict[str, str]:
        return tracing.outgoing(leadership.traceparent, self._caller) | {
            "LOCKD_FENCING_TOKEN": str(leadership.token),
            "LOCKD_CLUSTER_ID": f"{self._cluster():x}",
            "LOCKD_IDENTITY": leadership.identity,
            "LOCKD_LEADER": "1",
        }

    def _limits(self, gate: float) -> tuple[float, float]:
        """When the command is asked to end, and when it is killed."""
        return gate - self._config.exit_seconds, gate

    def _kill_bound(self) -> float:
        return KILL_SHARE * self._config.exit_seconds

    def _gate_moved(self, gate: float) -> None:
        """Whatever hangs here: the warden kills by its own clock, and this process ends by the watchdog."""
        self._job.until(*self._limits(gate))
        self._watchdog.arm(gate + self._config.exit_seconds)

    def _step(self, before: Election, after: Election, now: float) -> None:
        if after.draining is not None and before.draining is None:
            self._job.ask()
        if after.ending is not None and before.ending is None:
            self._job.kill(self._kill_bound())
            self._watchdog.arm_by(after.ending.since + self._config.exit_seconds)
        if self._patience.only_if_free and not self._committed:
            holder = living_holder(before.observed, after.observed, self._config.identity)
            if holder:
                self._refuse(holder, "is not free")
        self._telemetry.step(before, after, now)
