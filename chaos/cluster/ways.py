"""How the processes of a cluster reach each other: directly, or through links that can be hurt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from chaos.cluster.proxy import Proxy
from chaos.cluster.state import LinksState, LinkState
from chaos.proxy.link import ETCD, STRANGER, Link

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    from chaos.cluster.plan import Plan
    from component.clock import Clock


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
        self._proxy = Proxy(plan.logs / "proxy.log", clock=clock, stop=stop)
        clients = (*plan.names(), *plan.daemon_names())
        try:
            self._opened = self._proxy.open(
                (
                    *(Link(source, member) for source in clients for member in members),
                    *(Link(source, other) for other in plan.names() for source in plan.names() if source != other),
                )
            )
            for name, endpoint in members.items():
                self._proxy.place(name, 0, endpoint)
        except BaseException:
            self.stop()
            raise

    def endpoints(self, name: str) -> tuple[str, ...]:
        return tuple(at for link, at in self._opened.items() if link.source == name and link.kind == ETCD)

    def presence(self, name: str) -> str:
        return self._opened.get(Link(STRANGER, name), "")

    def moved(self, name: str, pid: int, target: str = "") -> None:
        self._proxy.place(name, pid, target)

    def state(self) -> LinksState:
        links = tuple(LinkState(link.source, link.destination, at) for link, at in self._opened.items())
        process = self._proxy.process
        return LinksState(self._proxy.name, process.pid, process.started, str(self._proxy.log), links)

    def step(self) -> None:
        self._proxy.check()

    def stop(self) -> None:
        self._proxy.stop()
