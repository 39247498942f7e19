"""All links of one cluster, inside the proxy: opened, held, lifted, counted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from chaos.proxy.door import Door, anywhere
from chaos.proxy.link import ETCD, PRESENCE, STRANGER, Link
from chaos.proxy.origin import origin
from chaos.proxy.route import Route
from chaos.proxy.rule import Mode, Unit
from chaos.proxy.rulebook import Rulebook
from lockd.presence import address

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping, Sequence

    from chaos.proxy.counters import Counters
    from chaos.proxy.loop import Loop
    from chaos.proxy.route import Address
    from chaos.proxy.rule import Rule
    from chaos.proxy.rulebook import Hold


@dataclass(frozen=True, slots=True)
class Place:
    """Where a named process is now.

    Attributes:
        pid: By which it is told who dials; 0 for nobody.
        target: Where those are passed on to who dial it; None: nobody is there.
    """

    pid: int = 0
    target: Address | None = None


class Exchange:
    """Belongs to the loop's thread. Who dials, and where others are, is told by pids and by `place` on one host."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._book = Rulebook()
        self._routes: dict[Link, Route] = {}
        self._doors: dict[Link, Door] = {}
        self._places: dict[str, Place] = {}

    def open(self, links: Sequence[Link]) -> dict[Link, str]:
        """Listen for new links; those to one replica share a port, on which strangers may come in, too.

        Returns:
            Where to dial for each of them, and for strangers.

        Raises:
            OSError: A port can't be had.
        """
        groups: dict[object, list[Link]] = {}
        for link in dict.fromkeys(links):
            groups.setdefault(link if link.kind == ETCD else link.destination, []).append(link)
        opened: dict[Link, str] = {}
        for group in groups.values():
            if group[0].kind == PRESENCE:
                group.append(Link(STRANGER, group[0].destination))
            opened |= self._open(group)
        return opened

    def _open(self, group: list[Link]) -> dict[Link, str]:
        routes = {link.source: Route(link, self._book, partial(self.target, link.destination)) for link in group}
        if group[0].kind == ETCD:
            (only,) = routes.values()
            door = Door(self._loop, (only,), lambda _dialler, _door: only, bind=partial(self.bind, group[0]))
        else:
            door = Door(
                self._loop,
                tuple(routes.values()),
                lambda dialler, here: routes[self.who(routes, dialler, here)],
                bind=partial(self.bind, group[0]),
            )
        for link in group:
            self._routes[link], self._doors[link] = routes[link.source], door
        return dict.fromkeys(group, door.endpoint)

    def bind(self, link: Link) -> tuple[socket.socket, Address]:  # noqa: ARG002  # any will do
        """A socket for a link, or for all that lead to its replica, and where it is dialled."""
        return anywhere()

    def target(self, name: str) -> Address | None:
        """Where a process of a name is dialled now; None: nowhere."""
        return self._places.get(name, Place()).target

    def who(self, routes: Mapping[str, Route], dialler: Address, door: Address) -> str:
        """The source of a connection, among those of the routes that a door has."""
        pids = {name: place.pid for name, place in self._places.items() if place.pid and name in routes}
        return origin(pids, dialler, door)

    def close(self, links: Sequence[Link]) -> None:
        """Take links away, with all that is connected over them."""
        for link in links:
            route, door = self._routes.pop(link), self._doors.pop(link)
            if door not in self._doors.values():
                door.close()
            route.end()

    def place(self, name: str, pid: int, target: str) -> None:
        """Say where a process is now: its pid, and what others dial to reach it ("": nothing)."""
        self._places[name] = Place(pid, address.parse(target) if target else None)

    def hold(self, rules: Mapping[Link, Rule]) -> Hold:
        """Put rules in force: once it returns they are.

        Raises:
            KeyError: There is no such link.
        """
        for link in rules:
            self._routes[link]
        hold = self._book.set(rules)
        self._refresh(hold, None)
        for link, rule in rules.items():
            if rule.mode is Mode.RESET and rule.unit is Unit.PRESENT:
                self._routes[link].end()
        return hold

    def lift(self, hold: Hold) -> None:
        """Take rules back: once it returns they are."""
        self._book.lift(hold)
        self._refresh(hold, hold)

    def _refresh(self, hold: Hold, lifted: Hold | None) -> None:
        links = [link for link in hold.rules if link in self._routes]
        for link in links:
            self._doors[link].refresh()  # before connections go: whoever comes back at once finds the door as it is now
        for link in links:
            self._routes[link].refresh(lifted)

    def endpoints(self) -> dict[Link, str]:
        """Where to dial for each link."""
        return {link: door.endpoint for link, door in self._doors.items()}

    def counters(self, link: Link) -> Counters:
        """What was done on a link.

        Raises:
            KeyError: There is no such link.
        """
        return self._routes[link].counters()
