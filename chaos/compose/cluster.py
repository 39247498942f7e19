"""A cluster of containers of one compose project, found by their labels."""

from __future__ import annotations

import contextlib
import signal
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final, Self

from chaos.cluster.health import is_answered
from chaos.cluster.hosted import Hosted
from chaos.cluster.interface import Condition, Target
from chaos.cluster.process import eventually
from chaos.compose import signalling
from chaos.compose.diary import Diary
from chaos.compose.identities import Identities
from chaos.compose.networks import ContainerNetworks
from chaos.compose.roster import DAEMON, ETCD, REPLICA, USUAL, Roster, chosen, is_named
from chaos.errors import NotStarted, TooSlow
from component.clock import SystemClock
from component.process import Gone
from lockd.errors import StoreError
from lockd.record import LeaderRecord

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chaos.cluster.interface import End
    from chaos.compose.container import Container
    from chaos.compose.engine import Engine
    from chaos.proxy.interface import Links
    from component.clock import Clock
    from lockd.etcd.gateway import Gateway
    from lockd.ports import LockName

TIMEOUT: Final = 5.0
"""Seconds that etcd may take to name the leader."""

ASKING: Final = 1.0
"""Seconds that one member may take to say who leads."""

ENDING: Final = 20.0
"""Seconds that a container may take to stand still, or to be seen to have ended."""

TELLING: Final = 1.0
"""Seconds that the engine may take to tell of something that can be seen already."""

STARTING: Final = 60.0
"""Seconds until whoever was started again must listen: the engine waits longer the more often one has ended."""


class ComposeCluster:
    """A `chaos.cluster.interface.Cluster` of containers. A context manager: inside, the ends of all are noted.

    Clients of a run are processes of this host, and are hurt as such.

    Args:
        gateway: To the members, as they are dialled from here.
        lock: The lock that the replicas contend for.
        links: The proxy through which they speak to each other, if the project has one.
    """

    def __init__(
        self,
        engine: Engine,
        project: str,
        gateway: Gateway,
        lock: LockName,
        *,
        links: Links | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.engine = engine
        self.project = project
        self._gateway = gateway
        self._lock = lock
        self._links = links
        self._clock = clock or SystemClock()
        self._clients = Hosted(self._clock)
        self._identities = Identities(gateway, lock)
        self._diary = Diary(engine, clock=self._clock)
        self._pids: dict[tuple[str, int], int] = {}
        self._ids: dict[str, str] = {}

    def roster(self) -> Roster:
        """Who is who now.

        Raises:
            NoCluster: Nobody of the project is there, or has a role.
            EngineError: The engine can't be asked.
        """
        roster = chosen(self.engine.containers(self.project), self.project)
        self._ids = {name: each.id for name, each in roster.everybody.items()}
        return roster

    def replicas(self) -> tuple[Target, ...]:
        found = self._of(REPLICA) or self.roster().replicas  # which says what is wrong with the project
        self._identities.look(found.values())
        return self._targets(found, REPLICA)

    def etcd_members(self) -> tuple[Target, ...]:
        return self._targets(self._of(ETCD), ETCD)

    def daemons(self) -> tuple[Target, ...]:
        return self._targets(self._of(DAEMON), DAEMON)

    def condition(self, target: Target) -> Condition:
        if not is_named(target.name):
            return self._clients.condition(target)
        try:
            now = self.container(target)
        except Gone:
            return Condition.GONE
        if not now.running or now.started != target.started:
            return Condition.GONE
        return Condition.STOPPED if now.paused else Condition.RUNNING

    def evidence(self, target: Target, what: str, since: float) -> str:
        """What the engine told of it: `docker told die at ...`; it may take a moment to do so."""
        container = self.container(target).id
        eventually(lambda: bool(self._diary.told(container, what, since)), clock=self._clock, within=TELLING)
        return self._diary.told(container, what, since)

    def ends(self) -> tuple[End, ...]:
        roster = self.roster()
        replicas = {each.id: name for name, each in roster.replicas.items()}
        daemons = {each.id: name for name, each in roster.daemons.items()}

        def ran(container: str, began: int, ended: int) -> str:
            return daemons.get(container) or self._identities.ran(container, began, ended)

        return self._diary.ends({**replicas, **daemons}, ran)

    def networks(self) -> ContainerNetworks:
        return ContainerNetworks(self.engine, self.container)

    def links(self) -> Links | None:
        return self._links

    def endpoints(self) -> tuple[str, ...]:
        return tuple(member.address for member in self.etcd_members())

    def leader(self) -> Target | None:
        found = self._gateway.range(self._lock.lease, timeout=TIMEOUT).kvs
        record = LeaderRecord.parse(found[0].value) if found else None
        holder = record.holder_identity if record is not None else ""
        return next((each for each in self.replicas() if holder and each.identity == holder), None)

    def etcd_leader(self) -> Target | None:
        newest, leader = 0, None
        for member in (each for each in self.etcd_members() if each.address):  # nowhere: anybody would answer
            with contextlib.suppress(StoreError):
                status = self._gateway.status(member.address, timeout=ASKING)
                if status.leader == status.member_id and status.raft_term > newest:
                    newest, leader = status.raft_term, member
        return leader

    def start(self, target: Target) -> Target:
        try:
            self.engine.start(self.container(target).id)
        except Gone as error:
            raise NotStarted((f"{target.name} can't be started: {error}",), 1) from error
        found: list[Target] = []

        role = target.name.rpartition("-")[0]

        def shown() -> bool:
            found[:] = [each for each in self._targets(self._of(role), role) if each.name == target.name]
            return any(self.condition(each) is Condition.RUNNING and is_answered(each.address) for each in found)

        if not eventually(shown, clock=self._clock, within=STARTING):
            raise TooSlow(
                f"{target.name} does not listen within {STARTING:g} s of its start: see "
                f"docker logs {self.container(target).name}"
            )
        return found[0]

    def kill(self, *targets: Target) -> None:
        self._send(targets, signal.SIGKILL)
        self._clients.kill(*(target for target in targets if not is_named(target.name)))
        for target in targets:
            eventually(partial(self._is_gone, target), clock=self._clock, within=ENDING)

    def terminate(self, *targets: Target) -> None:
        self._send(targets, signal.SIGTERM)
        self._clients.terminate(*(target for target in targets if not is_named(target.name)))

    def pause(self, target: Target) -> None:
        if not is_named(target.name):
            self._clients.pause(target)
            return
        self.engine.pause(self._present(target).id)

    def resume(self, target: Target) -> None:
        if not is_named(target.name):
            self._clients.resume(target)
            return
        self.engine.unpause(self._present(target).id)

    def __enter__(self) -> Self:
        self._diary.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self._diary.end()

    def _is_gone(self, target: Target) -> bool:
        return self.condition(target) is Condition.GONE

    def _send(self, targets: Sequence[Target], number: signal.Signals) -> None:
        """Signal those in containers side by side, since each may take a while where the engine does it."""
        aims = [
            signalling.Aim.at(self.engine, self._present(target), self._clock)
            for target in targets
            if is_named(target.name)
        ]
        with ThreadPoolExecutor(max(1, len(aims)), thread_name_prefix="chaos/signal") as pool:
            list(pool.map(lambda aim: aim.send(number), aims))

    def _present(self, target: Target) -> Container:
        """The container, if it still runs this very process.

        Raises:
            Gone: It doesn't.
        """
        found = self.container(target)
        if not found.running or found.started != target.started:
            raise Gone(f"{target.name} has ended")
        return found

    def container(self, target: Target) -> Container:
        """The container of a target as it is now.

        Raises:
            Gone: It was removed.
        """
        if (known := self._ids.get(target.name)) is not None:
            with contextlib.suppress(Gone):
                return self.engine.container(known)
        found = self.roster().everybody.get(target.name)  # it was made anew
        if found is None:
            raise Gone(f"no container is {target.name} any more")
        return found

    def _of(self, role: str) -> Mapping[str, Container]:
        """Those of a role. The engine isn't asked of others: while a fault is seen to, this is done all the time."""
        found = Roster.of(self.engine.containers(self.project, role)).named(role)
        self._ids = {**self._ids, **{name: each.id for name, each in found.items()}}
        return found

    def _targets(self, containers: Mapping[str, Container], role: str) -> tuple[Target, ...]:
        return tuple(self._target(name, each, role) for name, each in containers.items())

    def _target(self, name: str, container: Container, role: str) -> Target:
        run = (container.id, container.started)
        if container.pid:
            self._pids[run] = container.pid
        address = container.url(USUAL[role]) if role == REPLICA else container.dialled(USUAL[role])
        identity = self._identities.of(container) if role == REPLICA else name
        return Target(name, identity, self._pids.get(run, 0), container.started, address)
