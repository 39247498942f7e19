"""Electors for tests: each on a gateway and a thread of its own, with what it went through written down."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from component.clock import SystemClock
from lockd.config import ElectionConfig
from lockd.elector import Callbacks, Elector
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness
from lockd.ports import LockName
from lockd.store import EtcdRecordStore
from tests.harness.wait import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lockd.etcd.connection import Connection
    from lockd.leadership import Leadership
    from lockd.signals import Stop

CLOCK = SystemClock()

QUICK = {"lease_duration": 3.0, "renew_deadline": 2.0, "retry_period": 0.5}


def until_told(leadership: Leadership) -> None:
    """Work that does nothing, and lives."""
    while not leadership.draining.is_set() and not leadership.lost.is_set():
        leadership.tick()
        CLOCK.wait(leadership.draining, 0.02)


@dataclass(eq=False)
class Contender:
    """One elector and what became of it. `lost_at` is when its work was told that the gate had closed."""

    elector: Elector
    gateway: Gateway
    stop: Stop | None = None
    led: list[Leadership] = field(default_factory=list)
    lost_at: float = 0.0
    gates: list[float] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def identity(self) -> str:
        return self.elector.config.identity

    @property
    def leads(self) -> bool:
        leadership = self.elector.leadership
        return leadership is not None and leadership.holds(CLOCK.now())

    def wait_to_lead(self, within: float = 10.0) -> Leadership:
        eventually(lambda: self.leads, within=within, what=f"{self.identity} leads")
        assert self.elector.leadership is not None
        return self.elector.leadership

    def wait_to_end(self, within: float = 10.0) -> Stop:
        assert self.ended.wait(within), f"{self.identity} did not end within {within} s"
        assert self.stop is not None
        return self.stop


class Contest:
    """Contenders for one lock."""

    def __init__(self, prefix: str, **durations: float) -> None:
        self.lock = LockName(prefix, "kube-system", "contest")
        self.durations = durations or QUICK
        self.contenders: list[Contender] = []

    def enter(
        self,
        identity: str,
        connection: Connection,
        work: Callable[[Leadership], None] = until_told,
        *,
        first: int = 0,
        **durations: float | bool,
    ) -> Contender:
        gateway = Gateway(connection, purpose="election", witness=Witness(), first=first)

        gates: list[float] = []

        def led(leadership: Leadership) -> None:
            contender.led.append(leadership)
            work(leadership)

        elector = Elector(
            ElectionConfig(identity=identity, name="contest", **{**self.durations, **durations}),
            self.lock,
            EtcdRecordStore(gateway, self.lock, clock=CLOCK),
            clock=CLOCK,
            callbacks=Callbacks(on_started_leading=led, on_gate=gates.append),
        )
        contender = Contender(elector, gateway, gates=gates)

        def run() -> None:
            try:
                contender.stop = elector.run()
            finally:
                contender.lost_at = CLOCK.now()
                contender.ended.set()

        threading.Thread(target=run, name=f"elector {identity}", daemon=True).start()
        self.contenders.append(contender)
        return contender

    def leader(self, within: float = 10.0) -> Contender:
        """The one that leads."""
        return eventually(
            lambda: next((each for each in self.contenders if each.leads), None), within=within, what="a leader"
        )

    def close(self) -> None:
        for contender in self.contenders:
            contender.elector.request_stop()
        for contender in self.contenders:
            contender.ended.wait(10.0)
            contender.gateway.close()


@contextmanager
def contest(prefix: str, **durations: float) -> Iterator[Contest]:
    """A contest whose contenders are all told to end in the end."""
    made = Contest(prefix, **durations)
    try:
        yield made
    finally:
        made.close()
