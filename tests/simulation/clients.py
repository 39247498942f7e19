"""Clients of lockd in virtual time: each acts by its own clock, through elections that lockds make for it.

A client keeps one stream to a lockd at a time. What it says on it arrives in order and takes drawn times. When the
stream breaks it takes its term up again through another lockd, whose clock, delays and etcd are its own, while the one
before may live on and know nothing of it. Its belief is what the service promises: from when it sent the newest
answered keep-alive, for the renew deadline.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lockd.config import ElectionConfig
from lockd.election import Election
from lockd.fencing import Guard, Token
from lockd.lifeline import Claim, Lifeline
from lockd.signals import Abandoned, KeepAlive, StopRequested, WorkEnded
from tests.harness.lock_store import LOCK
from tests.simulation.clocks import HostClock
from tests.simulation.process import Process
from tests.simulation.timed import RESTART, Timed
from tests.simulation.weather import Fault, Kind

if TYPE_CHECKING:
    from typing import Any

NOTICED = (0.0, 3.0)
"""Seconds until an end of a stream knows that it broke, from and to."""


@dataclass(eq=False, slots=True)
class Client:
    """A client, and the stream that it has.

    Attributes:
        sent: When each keep-alive of the present stream was sent, on its own clock.
        answered: The newest number that was answered on it.
        until: It believes to lead until then, on its own clock.
        silent_until: It is stopped until then, in true seconds.
        claim: The term that it was told of.
        done: It has stopped acting for good, whatever it is told.
    """

    host: int
    clock: HostClock
    identity: str
    process: Process
    sent: dict[int, float] = field(default_factory=dict)
    answered: int = -1
    until: float = -math.inf
    silent_until: float = -math.inf
    heard: float = 0.0
    told: float = 0.0
    claim: Claim | None = None
    guard: Guard | None = None
    done: bool = False


class Served(Timed):
    """One run, in which every candidate is a client.

    Args:
        from_arrival: Plant a fault: clients count from when an answer comes.
    """

    def __init__(self, seed: int, *, from_arrival: bool = False, **options: Any) -> None:
        self.clients: dict[int, Client] = {}
        self.resumed = 0
        self._from_arrival = from_arrival
        super().__init__(seed, **options)

    # --- lockds ---

    def _process(self, host: int) -> Process:
        """A lockd's election for a new client of this host."""
        identity = f"client{host}_{next(self._count)}"
        process = self._election(host, identity, None)
        clock = HostClock(self._clocks[host].rate, self.random.uniform(0.0, 1e5))
        self.clients[host] = Client(host, clock, identity, process)
        return process

    def _election(self, host: int, identity: str, claim: Claim | None) -> Process:
        """On a lockd with a clock of its own."""
        rate = self.random.choice(self._clocks).rate
        clock = HostClock(rate, self.random.uniform(0.0, 1e5))
        config = ElectionConfig(identity=identity, fenced=False, **self.config)
        nonce = f"nonce {next(self._count)}."
        lifeline = Lifeline(clock.local(self.now))
        election = Election(config=config, nonce=nonce, secret=f"secret {nonce}", lifeline=lifeline, claim=claim)
        return Process(host, clock, election)

    def _start(self, process: Process) -> None:
        client = self.clients[process.host]
        client.sent[0] = client.clock.local(self.now)
        process.election = replace(process.election, lifeline=Lifeline(process.clock.local(self.now)))
        super()._start(process)
        self._beat(client, process, 1)
        self._act(client)

    def _end(self, process: Process, why: str) -> None:
        """Its client, if it still has this stream, waits out what it believes and begins anew."""
        process.alive = False
        self.note(f"{process.identity} {why}")
        client = self.clients[process.host]
        if client.process is process:
            at = max(self.now + RESTART, client.clock.true(client.until) if client.until > -math.inf else 0.0)
            self.at(at, lambda: self._anew(client))

    def _anew(self, client: Client) -> None:
        if self.clients[client.host] is client and not client.process.alive:
            self._start(self._process(client.host))

    def _believe(self, process: Process, gate: float) -> None:
        """It is the client that believes; called after each step, it is told what is new."""
        client = self.clients[process.host]
        election = process.election
        lifeline, hold = election.lifeline, election.hold
        if client.process is not process or gate == -math.inf or lifeline is None or hold is None:
            return
        if lifeline.answered <= client.answered and client.claim is not None:
            return
        client.answered = lifeline.answered
        process.guard = Guard(LOCK.term, hold.token, hold.term.encode())
        claim, number = Claim(Token(hold.token), hold.term), lifeline.answered
        client.told = max(client.told, self.now + self.random.uniform(*self.weather.latency))
        self.at(client.told, lambda: self._told(client, process, claim, max(0, number)))

    # --- clients ---

    def _told(self, client: Client, process: Process, claim: Claim, number: int) -> None:
        if client.process is not process or client.done or self.now < client.silent_until:
            return
        local = client.clock.local(self.now)
        client.claim, client.guard = claim, Guard(LOCK.term, claim.token, claim.term.encode())
        begun = local if self._from_arrival else client.sent[number]
        until = begun + process.election.config.renew_deadline
        if until > max(client.until, local):
            client.until = until
            self.beliefs.add(self.now, client.clock.true(until), client.identity)

    def _beat(self, client: Client, process: Process, number: int) -> None:
        """Send a keep-alive each retry period, as long as this is its stream."""
        if client.process is not process or self.clients[client.host] is not client:
            return
        period = process.election.config.retry_period * self.random.uniform(0.4, 1.0)
        if self.now < client.silent_until:
            self.at(client.silent_until, lambda: self._beat(client, process, number))
            return
        if number > 1:
            client.sent[number] = client.clock.local(self.now)
            client.heard = max(client.heard, self.now + self.random.uniform(*self.weather.latency))
            self.at(client.heard, lambda: self._see(process, KeepAlive(number)))
        self.at(self.now + period, lambda: self._beat(client, process, number + 1))

    def _act(self, client: Client) -> None:
        """Write under the guard now and then, while it believes."""
        if self.clients[client.host] is not client:
            return
        process, guard = client.process, client.guard
        entitled = self.now >= client.silent_until and client.clock.local(self.now) < client.until
        if entitled and guard is not None and (way := self._way(process)) is not None:
            self.at(self.now + way, lambda: self._write(process, guard))
        self.at(self.now + self.random.uniform(0.2, 2.0), lambda: self._act(client))

    def _break(self, process: Process) -> None:
        """Its stream breaks: each end learns of it in its own time, a lockd perhaps never."""
        client = self.clients[process.host]
        if client.process is not process:
            return
        if self.random.random() < 0.5:
            self.at(self.now + self.random.uniform(*NOTICED), lambda: self._see(process, Abandoned()))
        self.at(self.now + self.random.uniform(*NOTICED), lambda: self._again(client, process))

    def _again(self, client: Client, process: Process) -> None:
        """Take the term up through another lockd; without one, enter anew."""
        if client.process is not process or self.clients[client.host] is not client:
            return
        if client.claim is None:
            self._start(self._process(client.host))
            return
        self.resumed += 1
        self.note(f"{client.identity} resumes {client.claim.token}")
        fresh = self._election(client.host, client.identity, client.claim)
        client.process, client.sent, client.answered = fresh, {}, -1
        client.sent[0] = client.clock.local(self.now)
        self.at(self.now + self.random.uniform(*self.weather.latency), lambda: self._resume(client, fresh))

    def _resume(self, client: Client, fresh: Process) -> None:
        fresh.election = replace(fresh.election, lifeline=Lifeline(fresh.clock.local(self.now)))
        super()._start(fresh)
        self._beat(client, fresh, 1)

    # --- faults ---

    def leader(self) -> Process | None:
        """The lockd through which whoever believes to lead does."""
        found = (c for c in self.clients.values() if c.clock.local(self.now) < c.until and c.process.alive)
        return next((client.process for client in found), None)

    def _befall_one(self, process: Process, fault: Fault, end: float) -> None:
        client = self.clients[process.host]
        match fault.kind:
            case Kind.KILL:  # the lockd
                process.alive = False
                self._break(process)
            case Kind.BREAK:
                self._break(process)
            case Kind.HANG:  # the client
                client.silent_until = max(client.silent_until, end)
            case Kind.TERM:  # it stops acting, and then closes its side
                if client.process is process and self.now >= client.silent_until:
                    self.beliefs.cut(client.identity, self.now)
                    client.until, client.done = -math.inf, True
                    client.heard = max(client.heard, self.now + self.random.uniform(*self.weather.latency))
                    self.at(client.heard, lambda: self._see(process, StopRequested()))
                    self.at(client.heard, lambda: self._see(process, WorkEnded()))
            case _:
                super()._befall_one(process, fault, end)
