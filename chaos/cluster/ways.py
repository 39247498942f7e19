"""How the processes of a cluster reach each other: directly, or through links that can be hurt."""

from __future__ import annotations

import secrets
import sys
from typing import TYPE_CHECKING, Final, Protocol

from chaos.cluster.plan import environment
from chaos.cluster.process import STEP
from chaos.cluster.state import LinksState, LinkState
from chaos.cluster.words import last_words, shortened
from chaos.control import Caller, Unheard
from chaos.errors import LinksGone
from chaos.proxy.link import STRANGER, Link
from component.process import Child

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from chaos.cluster.plan import Plan
    from component.clock import Clock

PATIENCE: Final = 30.0
"""Seconds that a proxy may take to start, and to answer."""


class Ways(Protocol):
    """Owned by one thread."""

    def endpoints(self, name: str) -> tuple[str, ...]:
        """etcd's members as a process of this name is to dial them."""
        ...

    def presence(self, name: str) -> str:
        """What the others dial to reach the presence of a replica, `host:port`; "": wherever it listens."""
        ...

    def moved(self, name: str, pid: int, target: str = "") -> None:
        """A process of this name has begun, which listens for others there.

        Raises:
            LinksGone: The links can't be told.
        """
        ...

    def state(self) -> LinksState | None:
        """As cluster.json tells it."""
        ...

    def step(self) -> None:
        """Look whether they are there still.

        Raises:
            LinksGone: They aren't.
        """
        ...

    def stop(self) -> None:
        """Take them away."""
        ...


class Direct:
    """Everybody dials everybody."""

    def __init__(self, endpoints: tuple[str, ...]) -> None:
        self._endpoints = endpoints

    def endpoints(self, name: str) -> tuple[str, ...]:  # noqa: ARG002 - the same for all
        return self._endpoints

    def presence(self, name: str) -> str:  # noqa: ARG002 - the same for all
        return ""

    def moved(self, name: str, pid: int, target: str = "") -> None:
        """Nobody needs to know."""

    def state(self) -> None:
        return None

    def step(self) -> None:
        """They can't go."""

    def stop(self) -> None:
        """There is nothing to take away."""


class Linked:
    """Everybody dials a proxy, which is a process of its own. It ends with this one."""

    def __init__(self, plan: Plan, members: Mapping[str, str], *, clock: Clock, stop: threading.Event) -> None:
        """Start the proxy and open its links.

        Args:
            members: etcd's members: `host:port` by name.
            stop: Gives up at once.

        Raises:
            LinksGone: It did not come up; says why.
            OSError: Its process could not be made.
        """
        self._name = f"lockd-links-{secrets.token_hex(8)}"
        self._log = plan.logs / "proxy.log"
        command = [sys.executable, "-m", "chaos.proxy", self._name]
        self._child = Child(command, log=self._log, environment=environment())
        try:
            self._caller = self._call(clock, stop)
            links = [
                *((source, member) for source in (*plan.names(), *plan.daemon_names()) for member in members),
                *((source, other) for other in plan.names() for source in plan.names() if source != other),
            ]
            opened = self._ask("open", links=links)
            self._opened = {Link(source, destination): endpoint for source, destination, endpoint in opened}
            for name, endpoint in members.items():
                self.moved(name, 0, endpoint)
        except BaseException:
            self._child.kill()
            raise

    def endpoints(self, name: str) -> tuple[str, ...]:
        return tuple(at for link, at in self._opened.items() if link.source == name and link.kind == "etcd")

    def presence(self, name: str) -> str:
        return self._opened.get(Link(STRANGER, name), "")

    def moved(self, name: str, pid: int, target: str = "") -> None:
        self._ask("place", name=name, pid=pid, target=target)

    def state(self) -> LinksState:
        links = tuple(LinkState(link.source, link.destination, at) for link, at in self._opened.items())
        return LinksState(self._name, self._child.pid, self._child.process.started, str(self._log), links)

    def step(self) -> None:
        if self._child.exit_code is not None:
            raise self._gone()

    def stop(self) -> None:
        self._caller.close()
        self._child.kill()

    def _call(self, clock: Clock, stop: threading.Event) -> Caller:
        end = clock.now() + PATIENCE
        while True:
            try:
                return Caller(self._name, timeout=PATIENCE)
            except Unheard as error:
                if self._child.exit_code is not None or clock.now() >= end or clock.wait(stop, STEP):
                    raise self._gone() from error

    def _ask(self, what: str, **fields: object) -> list[list[str]]:
        try:
            answer: list[list[str]] = self._caller.ask(what, **fields)
        except Unheard as error:
            raise self._gone() from error
        return answer

    def _gone(self) -> LinksGone:
        code = self._child.exit_code
        how = "does not answer" if code is None else f"ended with code {code}"
        said = last_words(self._log.read_text(encoding="utf-8", errors="replace"))
        return LinksGone(shortened(f"the proxy of the links {how}{f': {said}' if said else ''}"))
