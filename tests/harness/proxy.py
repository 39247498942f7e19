"""A link in front of an etcd member, or of any server, which can do what networks do: see `chaos/proxy`.

All of them are in one process, which is started when a test first asks for one and ends with the tests.
"""

from __future__ import annotations

import itertools
import os
import threading
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

from chaos.cluster import proxy as processes
from chaos.control import Caller
from chaos.proxy.link import Link
from chaos.proxy.links import ProxyLinks
from chaos.proxy.rule import PASS, Direction, DropReply, Mode, Rule, Unit
from component.clock import SystemClock
from tests.harness.wait import eventually

if TYPE_CHECKING:
    from types import TracebackType

    from chaos.proxy.interface import Held
    from lockd.etcd.connection import Connection
    from lockd.etcd.embedded import Embedded

_CLOCK = SystemClock()
_numbers = itertools.count(1)


@cache
def _process() -> processes.Proxy:
    return processes.Proxy(Path(os.devnull), clock=_CLOCK, stop=threading.Event())


class Way(Enum):
    """A direction of traffic."""

    TO_SERVER = Direction.TO
    TO_CLIENT = Direction.FROM


@dataclass(frozen=True)
class Passed:
    """Set when the reply of a transaction was lost."""

    held: Held

    def is_set(self) -> bool:
        return self.held.used() > 0

    def wait(self, seconds: float) -> bool:
        """Wait for it."""
        try:
            return eventually(self.is_set, within=seconds)
        except AssertionError:
            return False


@dataclass(frozen=True)
class Swallow:
    """Replies that are lost, from the first one on all that is said on their connections."""

    passed: Passed


class Proxy:
    """Listens on a loopback port and passes on to `target`; `heal` undoes every fault. A context manager."""

    def __init__(self, target: str) -> None:
        number = next(_numbers)
        self._link = Link(f"client-{number}", f"etcd-{number}")
        self._caller = Caller(_process().name, timeout=30.0)  # the link is there as long as this connection
        ((*_, self.endpoint),) = self._caller.ask("open", links=[[self._link.source, self._link.destination]])
        self._caller.ask("place", name=self._link.destination, pid=0, target=target)
        self._links = ProxyLinks(_process().name)
        self._held = self._links.hold({self._link: PASS})

    @property
    def connections(self) -> int:
        """Connections accepted so far."""
        return self._links.counters(self._link).accepted

    def refuse(self) -> None:
        """Refuse new connections and reset the present ones, as a host without the program does."""
        self._hold(Rule(mode=Mode.REFUSE))

    def reset(self) -> None:
        """Reset the present connections."""
        self._links.hold({self._link: Rule(mode=Mode.RESET, unit=Unit.PRESENT)}).release()

    def fail_connections(self, number: int) -> None:
        """Reset the present connections, and so many of the next at once."""
        self._hold(Rule(mode=Mode.RESET, first=number))

    def black_hole(self, *ways: Way) -> None:
        """Pass nothing on in these directions (both by default), without a word; it arrives after `heal`."""
        (direction,) = [way.value for way in ways] if len(ways) == 1 else [Direction.BOTH]
        self._hold(Rule(mode=Mode.BLACK_HOLE, direction=direction))

    def delay(self, seconds: float) -> None:
        """Hold everything up for so long, each way."""
        self._hold(Rule(latency=seconds))

    def swallow(self, marker: bytes, *, times: int = 1) -> Swallow:
        """Lose the reply to the next transaction that holds these bytes, and all that follows on its connection."""
        order = DropReply(times=times, containing=marker.decode(), refused=True, silent=True)
        return Swallow(Passed(self._hold(Rule(drop_reply=order))))

    def heal(self) -> None:
        """Undo every fault. Connections that lost something are reset."""
        self._hold(PASS)

    def close(self) -> None:
        """End it."""
        self._held.release()
        self._caller.close()

    def _hold(self, rule: Rule) -> Held:
        """Put a rule in force in place of the one before."""
        before, self._held = self._held, self._links.hold({self._link: rule})
        before.release()
        return self._held

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Proxies:
    """A proxy in front of each member of a cluster. A context manager."""

    def __init__(self, cluster: Embedded) -> None:
        self._cluster = cluster
        self.each = tuple(Proxy(member.endpoint) for member in cluster.members)

    @property
    def connection(self) -> Connection:
        """The cluster as seen through them, members in the same order."""
        return replace(self._cluster.connection, endpoints=tuple(proxy.endpoint for proxy in self.each))

    def heal(self) -> None:
        """Undo every fault."""
        for proxy in self.each:
            proxy.heal()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for proxy in self.each:
            proxy.close()
