"""All processes of a supervised cluster together."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from chaos.cluster.daemons import Daemons
from chaos.cluster.keeper import PATIENCE
from chaos.cluster.members import Members
from chaos.cluster.process import end_all
from chaos.cluster.replicas import Replicas
from chaos.cluster.requests import Requests
from chaos.cluster.state import ClusterState
from component.process import Process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chaos.cluster.plan import Plan
    from chaos.cluster.ways import Ways
    from component.clock import Clock
    from lockd.etcd.embedded import Embedded


class Crew:
    """Owned by one thread. etcd and the ways are there before, and go after."""

    def __init__(self, plan: Plan, etcd: Embedded, ways: Ways, *, clock: Clock, tell: Callable[[str], None]) -> None:
        """Start nobody yet.

        Raises:
            OSError: Requests can't be heard.
        """
        self._plan = plan
        self._etcd = etcd
        self._ways = ways
        self._clock = clock
        self._members = Members(etcd.members, tell=tell)
        self._replicas = Replicas(plan, ways, clock=clock, tell=tell)
        self._daemons = Daemons(plan, ways, clock=clock, tell=tell)
        self._requests = Requests(self._again)

    def start(self) -> None:
        """Start them.

        Raises:
            OSError: One can't be started.
            LinksGone: The ways can't be told.
        """
        self._daemons.start(self._plan.daemon_names())
        self._replicas.start(self._plan.names())

    def step(self) -> None:
        """Look after them, and do what others ask for.

        Raises:
            ConfigError: One refuses its flags.
            OSError: One can't be started.
            LinksGone: The ways are gone.
        """
        self._ways.step()
        for part in (self._replicas, self._daemons, self._members, self._requests):
            part.step()

    def stop(self) -> None:
        """End them all: in good order if they can, in any case."""
        self._requests.stop()
        everybody = [*self._replicas.processes(), *self._daemons.processes()]
        end_all(everybody, clock=self._clock, patience=PATIENCE)
        self._replicas.stop()
        self._daemons.stop()

    def state(self) -> ClusterState:
        """As cluster.json tells it."""
        return ClusterState(
            prefix=self._plan.prefix,
            endpoints=self._etcd.endpoints,
            supervisor=Process.of(os.getpid()),
            etcd=self._members.state(),
            replicas=self._replicas.state(),
            daemons=self._daemons.state(),
            links=self._ways.state(),
            control=self._requests.name,
            ends=tuple(sorted((*self._replicas.ends, *self._daemons.ends), key=lambda end: end.at)),
        )

    def lines(self) -> Iterator[str]:
        """What a person may want to know of it."""
        for replica in self._replicas.state():
            yield f"{replica.name}: {replica.http} log {replica.log}"
        for daemon in self._daemons.state():
            yield f"{daemon.name}: {daemon.address} log {daemon.log}"
        links = self._ways.state()
        if links is not None:
            yield f"links: {len(links.links)} through process {links.pid} log {links.log}"
        yield f"etcd: {','.join(self._etcd.endpoints)} prefix {self._plan.prefix}"

    def _again(self, name: str) -> Process | None:
        return self._members.again(name) or self._replicas.again(name) or self._daemons.again(name)
