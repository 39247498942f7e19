"""A whole cluster of elections in virtual time: real machines, an etcd in memory, clocks and a network that are drawn.

True time is what nobody in the cluster knows. Each host has a clock of its own rate. Requests, replies and events take
drawn times, or get lost; a request may be applied long after its sender gave it up. Processes are killed, stopped and
asked to stop, hosts are cut off and suspended; what ended is started again as a new identity. One seed is one run.

Checked while it runs: S1 (a guarded write passes only in the term in force) and S2 (nobody renews or blanks another's
record), and that tokens grow. Looked at afterwards: who believed to lead when (`beliefs`), in true time.
"""

from __future__ import annotations

import heapq
import math
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any

from lockd.candidate import Candidate
from lockd.config import ElectionConfig
from lockd.election import Election
from lockd.errors import OutcomeUnknown, Unavailable
from lockd.fencing import Guard
from lockd.ports import Acquire, Applied, Failed, KeyEvent, Release, Renew, Which
from lockd.record import LeaderRecord, parse_history
from lockd.signals import PeerGone, Read, ReadFailed, Refused, Reply, Stop, StopRequested, Wait, WorkEnded
from tests.harness.lock_store import LOCK, LockStore
from tests.simulation.beliefs import Beliefs
from tests.simulation.clocks import HostClock
from tests.simulation.process import Process
from tests.simulation.weather import CALM, LEADER, Fault, Kind, Script, Weather

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockd.ports import Transaction
    from lockd.signals import Input
    from tests.harness.lock_store import Flight

LOST = Failed(OutcomeUnknown("no answer"))
REFUSED = Failed(Unavailable("connection refused"))
WALL = 1_700_000_000.0
RESTART = 1.0
"""Seconds after which what ended is started again."""


class Timed:
    """One run.

    Args:
        rates: One clock rate for each host.
        config: Durations of every candidate.
        drop_late: Plant a fault: the answer of a copy is dropped once the next copy was sent.
        presence: Who stands by holds a connection to the leader, and takes its end for evidence.

    Attributes:
        beliefs: Who believed to lead, from when to when.
        stops: How each election ended that did by itself.
        log: What happened, for people.
    """

    def __init__(
        self,
        seed: int,
        *,
        rates: tuple[float, ...] = (1.0,) * 5,
        weather: Weather = CALM,
        script: Script | None = None,
        until: float = 120.0,
        config: dict[str, Any] | None = None,
        drop_late: bool = False,
        presence: bool = False,
    ) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.weather = weather
        self.script = script or Script()
        self.until = until
        self.config = config or {}
        self.drop_late = drop_late
        self.presence = presence
        self.now = 0.0
        self.store = LockStore()
        self.beliefs = Beliefs()
        self.stops: list[tuple[float, str, Stop]] = []
        self.log: list[str] = []
        self.acquired: list[tuple[float, int, str]] = []
        self._count = count()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._cut: dict[int, float] = {}
        self._deaf: dict[int, float] = {}
        self._outage = -math.inf
        self._refuse = -math.inf
        self._delivered = 0
        self._clocks = [HostClock(rate, self.random.uniform(0.0, 1e5)) for rate in rates]
        self.hosts: list[Process] = []
        for host in range(len(rates)):
            self.hosts.append(self._process(host))

    # --- time ---

    def at(self, moment: float, act: Callable[[], None]) -> None:
        if moment < math.inf:
            heapq.heappush(self._events, (max(moment, self.now), next(self._count), act))

    def run(self) -> Timed:
        """Until the end of the run.

        Raises:
            AssertionError: Something that must hold did not. It, and whatever else is raised, has the script as a note.
        """
        for process in self.hosts:
            self._start(process)
        for fault in self.script.faults:
            self.at(fault.at, lambda fault=fault: self._befall(fault))
        try:
            while self._events and self._events[0][0] <= self.until:
                self.now, _, act = heapq.heappop(self._events)
                act()
        except Exception as error:
            error.add_note(self.told("this run broke"))
            raise
        self.now = self.until
        for process in self.hosts:
            self._believe(process, -math.inf)
        return self

    def told(self, problem: str) -> str:
        """A problem with what is needed to see it again."""
        rates = ", ".join(f"{clock.rate:g}" for clock in self._clocks)
        tail = "\n".join(self.log[-40:])
        return f"seed {self.seed}, rates {rates}: {problem}\nscript:\n{self.script}\nlast steps:\n{tail}"

    def note(self, text: str) -> None:
        self.log.append(f"{self.now:8.3f} {text}")

    # --- processes ---

    def _process(self, host: int) -> Process:
        identity = f"host{host}_{next(self._count)}"
        config = ElectionConfig(identity=identity, **self.config)
        election = Election(config=config, nonce=f"nonce of {identity}.", secret=f"secret of {identity}.")
        return Process(host, self._clocks[host], election)

    def _start(self, process: Process) -> None:
        self.hosts[process.host] = process
        process.heard = self.now
        for which, key in ((Which.LEASE, LOCK.lease), (Which.TERM, LOCK.term)):
            if self.store.value(key) is not None:
                self._tell(process, KeyEvent(which, key, self.store.space.seen(key)))
        self._step(process)

    def _end(self, process: Process, why: str) -> None:
        self._believe(process, -math.inf)
        process.alive = False
        if not process.election.bids_farewell:
            self._break_off(process)
        self.note(f"{process.identity} {why}")
        successor = self._process(process.host)
        self.at(self.now + RESTART, lambda: self._start(successor))

    def _see(self, process: Process, seen: Input) -> None:
        if not process.alive:
            return
        if process.paused:
            process.inbox.append(seen)
            return
        process.election = process.election.observe(seen, process.clock.local(self.now))
        self._step(process)

    def _step(self, process: Process) -> None:
        """Decide until there is something to wait for."""
        if not process.alive or process.paused:
            return
        local = process.clock.local(self.now)
        process.wakes += 1
        while True:
            election = process.election
            if local < election.gate and not process.hung:
                election = election.progress(local + election.config.work_timeout)
            process.election, action = election.decide(local, WALL + local)
            self._believe(process, process.election.gate)
            match action:
                case Wait(seconds=seconds):
                    self._wake(process, local + seconds)
                    return
                case Stop():
                    standing = process.guard is not None and self.store.space.guarded(process.guard.compares())
                    assert not (action.released and standing), f"{process.identity} says {action}, but its term stands"
                    self.stops.append((self.now, process.identity, action))
                    self._mark(process)
                    self._end(process, f"stops: {action}")
                    return
                case Read():
                    self._read(process)
                case Acquire() | Renew() | Release():
                    self._send(process, action)

    def _wake(self, process: Process, local: float) -> None:
        """By its own timer, a little late, unless something else makes it take a step before."""
        wakes = process.wakes
        moment = process.clock.true(local) + self.random.uniform(0.0, 0.004)
        self.at(moment, lambda: self._step(process) if process.wakes == wakes else None)

    def _believe(self, process: Process, gate: float) -> None:
        """Note what it believes from now on, and for how long it believed what it did."""
        if gate == process.gate:
            return
        end = min(self.now, process.clock.true(process.gate)) if process.gate > -math.inf else -math.inf
        if end > process.since:
            self.beliefs.add(process.since, end, process.identity)
        if process.gate == -math.inf and process.election.hold is not None:
            self.note(f"{process.identity} leads")
            hold = process.election.hold
            process.guard = Guard(LOCK.term, hold.token, hold.term.encode())
            self._work(process)
        process.gate, process.since = gate, self.now

    # --- the network ---

    def _way(self, process: Process) -> float | None:
        """How long something takes between a host and etcd; None when it is lost."""
        if self._cut.get(process.host, -math.inf) > self.now or self._outage > self.now:
            return None
        return self.weather.delay(self.random)

    def _back(self, process: Process) -> float | None:
        """The same for an answer."""
        return None if self._deaf.get(process.host, -math.inf) > self.now else self._way(process)

    def _send(self, process: Process, transaction: Transaction) -> None:
        local, election = process.clock.local(self.now), process.election
        give_up = process.clock.true(local + election.patience(local))
        copies = election.copy

        def answer(result: Applied | Failed) -> None:
            pending = process.election.unsettled
            outdated = pending is not None and pending.transaction == transaction and process.election.copy != copies
            if not (self.drop_late and outdated):
                self._see(process, Reply(transaction, result))

        if self._refuse > self.now:
            self.at(self.now + self.random.uniform(*self.weather.latency), lambda: answer(REFUSED))
            return
        way = self._way(process)
        if process.stuck:
            way, process.stuck = process.stuck, 0.0
        if way is None:
            self.at(give_up, lambda: answer(LOST))
            return
        flight = self.store.send(transaction)

        def arrive() -> None:
            applied = self._commit(process, flight)
            back = self._back(process)
            if back is None or self.now + back > give_up:
                self.at(give_up, lambda: answer(LOST))
                return
            told = REFUSED if self.random.random() < self.weather.spurious else applied
            self.at(self.now + back, lambda: answer(told))

        self.at(self.now + way, arrive)

    def _commit(self, process: Process, flight: Flight) -> Applied:
        """A copy reaches etcd."""
        self._judge(process, flight.transaction)
        applied = flight.commit()
        if applied.succeeded:
            self.note(f"{process.identity}: {type(flight.transaction).__name__} committed at {applied.revision}")
            if isinstance(flight.transaction, Acquire):
                assert all(applied.revision > token for _, token, _ in self.acquired), "a token that does not grow"
                self.acquired.append((self.now, applied.revision, process.identity))
        self._spread()
        return applied

    def _read(self, process: Process) -> None:
        local = process.clock.local(self.now)
        give_up = process.clock.true(local + process.election.config.renew_deadline)
        way = self._way(process) if self._refuse <= self.now else None
        if way is None:
            self.at(give_up, lambda: self._see(process, ReadFailed()))
            return

        def arrive() -> None:
            view, back = self.store.view(), self._back(process)
            if back is None or self.now + back > give_up:
                self.at(give_up, lambda: self._see(process, ReadFailed()))
            else:
                self.at(self.now + back, lambda: self._see(process, view))

        self.at(self.now + way, arrive)

    def _spread(self) -> None:
        """Tell the watches what is new in the keys."""
        new, self._delivered = self.store.log[self._delivered :], len(self.store.log)
        for event in new:
            for process in self.hosts:
                self._tell(process, event)

    def _tell(self, process: Process, event: KeyEvent) -> None:
        """One event, after those before it; a host that is cut off hears it later."""
        healed = max(self.now, self._cut.get(process.host, 0.0), self._deaf.get(process.host, 0.0), self._outage)
        process.heard = max(process.heard, healed + self.weather.watch_delay(self.random))
        self.at(process.heard, lambda: self._see(process, event))

    # --- presence ---

    def _break_off(self, process: Process) -> None:
        """The connections to it end, without a goodbye: evidence for who watches over it and hears of that."""
        if not self.presence or self._cut.get(process.host, -math.inf) > self.now:
            return
        for other in self.hosts:
            record = other.election.observed.record
            watches = record is not None and record.holder_identity == process.identity and other is not process
            if watches and other.alive and self._cut.get(other.host, -math.inf) <= self.now:
                told = self.now + self.random.uniform(0.0005, 0.02)
                self.at(told, lambda other=other: self._see(other, PeerGone(process.identity)))

    def _mark(self, process: Process) -> None:
        """What a live process leaves behind when evidence ended its term, if it can still reach etcd."""
        kv = self.store.space.get(LOCK.history)
        if not self.presence or process.guard is None or kv is None or self._way(process) is None:
            return
        terms = parse_history(kv.value, kv.mod_revision)
        if any((term.token, term.reason) == (process.guard.token, "evidence") for term in terms):
            mark = Candidate(identity=process.identity, deposed_token=process.guard.token)
            self.store.put(f"{LOCK.candidates}{process.identity}", mark.encode())
            self._spread()

    # --- the work of a leader ---

    def _work(self, process: Process) -> None:
        """Send a guarded write now and then; and end some time after being asked to."""
        election, guard = process.election, process.guard
        if not process.alive or election.hold is None or guard is None:
            return
        leads = not process.paused and process.clock.local(self.now) < process.gate
        if leads and (way := self._way(process)) is not None:
            self.at(self.now + way, lambda: self._write(process, guard))
        if not process.paused and election.draining is not None and self.random.random() < 0.3:
            self._see(process, WorkEnded())
        self.at(self.now + self.random.uniform(0.2, 2.0), lambda: self._work(process))

    def _write(self, process: Process, guard: Guard) -> None:
        if self.store.space.guarded(guard.compares()):
            _, token, identity = self.acquired[-1]
            assert (token, identity) == (guard.token, process.identity), (
                f"S1: a write of {process.identity}'s term {guard.token} passed in {identity}'s term {token}"
            )
        elif (back := self._back(process)) is not None:
            self.at(self.now + back, lambda: self._see(process, Refused(guard.token)))

    def _judge(self, process: Process, transaction: Transaction) -> None:
        """S2, for a renewal or a release that is about to be committed."""
        lease, term = self.store.space.get(LOCK.lease), self.store.space.get(LOCK.term)
        if isinstance(transaction, Acquire) or lease is None or term is None:
            return
        if (lease.mod_revision, term.mod_revision) != (transaction.lease_revision, transaction.token):
            return
        record = LeaderRecord.parse(lease.value)
        holder = record.holder_identity if record is not None else None
        assert holder == process.identity, f"S2: {process.identity} overwrites the record of {holder!r}"
        assert self.acquired[-1][1:] == (transaction.token, process.identity), "S2: it writes in the term of another"

    # --- faults ---

    def leader(self) -> Process | None:
        """Whoever believes to lead now."""
        return next((p for p in self.hosts if p.alive and p.clock.local(self.now) < p.gate), None)

    def _befall(self, fault: Fault) -> None:
        process = self.leader() if fault.slot == LEADER else self.hosts[fault.slot]
        self.note(f"fault: {fault}" + (f": {process.identity}" if process else ""))
        end = self.now + fault.seconds
        match fault.kind:
            case Kind.OUTAGE:
                self._outage = max(self._outage, end)
            case Kind.REFUSE:
                self._refuse = max(self._refuse, end)
            case Kind.MEDDLE:
                self._meddle()
            case _ if process is not None and process.alive:
                self._befall_one(process, fault, end)

    def _befall_one(self, process: Process, fault: Fault, end: float) -> None:
        match fault.kind:
            case Kind.KILL:
                self._end(process, "is killed")
            case Kind.TERM:
                self._see(process, StopRequested())
            case Kind.RESET:
                self._break_off(process)
            case Kind.HANG:
                process.hung = True
            case Kind.CUT:
                self._cut[process.host] = max(self._cut.get(process.host, 0.0), end)
            case Kind.DEAF:
                self._deaf[process.host] = max(self._deaf.get(process.host, 0.0), end)
            case Kind.STICK:
                process.stuck = fault.seconds
                self._kill_after_a_send(process)
            case Kind.PAUSE | Kind.SUSPEND:
                self._pause(process, end, stops_clock=fault.kind is Kind.SUSPEND)

    def _meddle(self) -> None:
        key = self.random.choice((LOCK.lease, LOCK.term, LOCK.history))
        values = (None, b"", b"garbage", b"{}", LeaderRecord(holder_identity="x", lease_duration=4.0).encode())
        value = self.random.choice(values)
        self.note(f"a person puts {value!r} into {key}")
        if value is None:
            self.store.delete(key)
        else:
            self.store.put(key, value)
        self._spread()

    def _kill_after_a_send(self, process: Process) -> None:
        if process.alive and process.stuck == 0.0:
            self._end(process, "is killed with a request stuck on its way")
        elif process.alive:
            self.at(self.now + 0.01, lambda: self._kill_after_a_send(process))

    def _pause(self, process: Process, end: float, *, stops_clock: bool) -> None:
        if process.paused:
            return
        process.paused = True
        if stops_clock:
            process.clock.stop(self.now)

        def resume() -> None:
            process.paused = False
            if stops_clock:
                process.clock.go_on(self.now)
            if self.random.random() < 0.5:  # either may come first: the timer, or what waits to be read
                self._step(process)
            waiting, process.inbox = process.inbox, []
            for seen in waiting:
                self._see(process, seen)
            self._step(process)

        self.at(end, resume)

    # --- what is looked at afterwards ---

    def overlaps(self) -> list[tuple[float, str, str]]:
        """Each time that two believed to lead at once: for how long, and who."""
        return self.beliefs.overlaps()

    def gaps(self) -> list[tuple[float, float]]:
        """Each span, from and to, in which nobody believed to lead; the beginning of the run is left out."""
        return self.beliefs.gaps(self.until)

    def led(self) -> float:
        """The share of the run in which somebody led."""
        return self.beliefs.led(self.until)
