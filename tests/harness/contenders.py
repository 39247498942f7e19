"""Contenders for one lock in one process, as streams of a lockd or as electors, and hand-offs among them."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lockd.config import ElectionConfig
from lockd.elector import Callbacks, Elector
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness
from lockd.lock_hub import LockHub
from lockd.ports import LockName
from tests.harness.electors import CLOCK, until_told
from tests.harness.serving import NAMESPACE, Stream, dialled, enter, serving
from tests.harness.wait import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lockd.etcd.connection import Connection

NAME = "crowd"
DEFAULTS = {"lease_duration": 15.0, "renew_deadline": 10.0, "retry_period": 2.0}
BEAT = 1.5
"""Seconds between a stream's keep-alives."""


@dataclass(eq=False)
class Crowd:
    """Contenders, however they are made: `leaders` tells who leads, `give` has one of them give the lock back."""

    leaders: Callable[[], list[Any]]
    give: Callable[[Any], None]
    left: set[Any] = field(default_factory=set)

    def leader(self) -> Any:
        """The one that leads.

        Raises:
            AssertionError: Two do, or nobody.
        """
        found = eventually(
            lambda: [one for one in self.leaders() if one not in self.left], within=60.0, what="a leader"
        )
        assert len(found) == 1
        return found[0]

    def hand_off(self) -> float:
        """One gives the lock back, and the next leads; the seconds that took."""
        one = self.leader()
        self.left.add(one)
        begun = CLOCK.now()
        self.give(one)
        self.leader()
        return CLOCK.now() - begun


@contextmanager
def streams(connection: Connection, prefix: str, number: int, *, target: str = "") -> Iterator[Crowd]:
    """Streams of one lockd: of this process, unless it is at `target`."""
    with ExitStack() as stack:
        where = target or stack.enter_context(serving(connection, prefix))
        channel = stack.enter_context(dialled(where))
        first = Stream(channel, enter(NAME, "0", **DEFAULTS), beat=BEAT)
        made = [stack.enter_context(first)]
        first.wait("leading")
        made += [
            stack.enter_context(Stream(channel, enter(NAME, str(n), **DEFAULTS), beat=BEAT)) for n in range(1, number)
        ]
        for one in made[1:]:
            one.wait("waiting", within=60.0)
        yield Crowd(lambda: [one for one in made if one.leads], lambda one: one.half_close())


@contextmanager
def electors(connection: Connection, prefix: str, number: int) -> Iterator[Crowd]:
    """Electors that share a hub."""
    gateway = Gateway(connection, purpose="election", witness=Witness())
    hub, lock = LockHub(gateway, clock=CLOCK), LockName(prefix, NAMESPACE, NAME)
    made: list[Elector] = []
    threads: list[threading.Thread] = []
    for identity in map(str, range(number)):
        config = ElectionConfig(identity=identity, name=NAME, **DEFAULTS)
        callbacks = Callbacks(on_started_leading=until_told)
        elector = Elector(config, lock, hub.store(lock), clock=CLOCK, callbacks=callbacks)
        made.append(elector)
        threads.append(threading.Thread(target=elector.run, daemon=True))
    for thread in threads:
        thread.start()

    def leaders() -> list[Elector]:
        now = CLOCK.now()
        return [one for one in made if one.leadership is not None and one.leadership.holds(now)]

    try:
        eventually(lambda: all(one.leader for one in made), within=60.0, what="all know who leads")
        yield Crowd(leaders, lambda one: one.request_stop())
    finally:
        for one in made:
            one.request_stop()
        for thread in threads:
            thread.join(10.0)
        hub.close()
        gateway.close()
