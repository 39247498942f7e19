"""Clusters of containers, made by the compose command for one run."""

from __future__ import annotations

import contextlib
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from chaos.backend.marker import mark
from chaos.compose.bringing import Bringing, image
from chaos.compose.cluster import ComposeCluster
from chaos.compose.container import ROLE
from chaos.compose.gathering import gather
from chaos.compose.health import ask, failing
from chaos.compose.project import ETCD_IMAGE, LOCKD_IMAGE, SIDECAR, Project
from chaos.compose.remedies import ComposeRemedies, Remove, remove
from chaos.compose.roster import ETCD, USUAL, Roster
from chaos.compose.sidecar import Conversations, links
from chaos.errors import Interrupted, NotStarted, TooSlow
from chaos.faults import clocks
from chaos.faults.errors import NotAvailable
from chaos.faults.fault import Need
from chaos.faults.guard import GuardProcess
from chaos.faults.place import Place
from component.process import Gone
from lockd.errors import LockdError
from lockd.etcd.connection import Connection
from lockd.etcd.loopback import free_ports

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Collection, Iterator

    from chaos.cluster.health import Health
    from chaos.cluster.plan import Plan
    from chaos.compose.container import Container
    from chaos.compose.engine import Engine
    from chaos.faults.guard import Promise
    from component.clock import Clock
    from lockd.etcd.gateway import Gateway
    from lockd.ports import LockName

PATIENCE: Final = 180.0
"""Seconds that a project may take to become healthy."""

STEP: Final = 0.2


class ComposeStanding:
    """A `chaos.backend.interface.Standing`: the project of one plan."""

    has_data = False
    stays = False

    def __init__(self, engine: Engine, project: Project, endpoints: tuple[str, ...], clock: Clock) -> None:
        self.connection = Connection(endpoints=endpoints)
        self._engine = engine
        self._project = project
        self._clock = clock

    @contextlib.contextmanager
    def place(self, gateway: Gateway, lock: LockName) -> Iterator[Place]:
        plan, name = self._project.plan, self._project.name
        with contextlib.ExitStack() as undo:
            through = None
            if plan.proxied:
                through = links(undo.enter_context(Conversations(self._engine, self._sidecar)))
            mark(gateway, plan.prefix, f"chaosctl run, compose project {name}", clock=self._clock)
            cluster = undo.enter_context(
                ComposeCluster(self._engine, name, gateway, lock, links=through, clock=self._clock)
            )
            remedies = ComposeRemedies(cluster)
            yield Place(cluster=cluster, gateway=gateway, lock=lock, remedies=remedies, folder=plan.folder)

    def gather(self) -> None:
        """Have what containers wrote in the log folder; their traces are there already."""
        gather(self._engine, self._engine.containers(self._project.name), self._project.plan.logs)

    def _sidecar(self) -> Container:
        found = [each for each in self._engine.containers(self._project.name) if each.labels.get(ROLE) == SIDECAR]
        if not found:
            raise Gone("the container of the links is not there any more")
        return found[0]


class ComposeBackend:
    """A `chaos.backend.interface.Backend`."""

    name = "compose"
    lingers = 30.0  # the guard removes one container after the other, and the engine may start one again before that
    traced = True

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def equipped(self, plan: Plan, needs: Collection[Need]) -> Plan:
        if Need.COLLECTOR in needs:
            raise NotAvailable("containers don't reach a collector on this host's loopback: take --backend local")
        extra = clocks.equipped(plan.folder, plan.names()) if Need.CLOCKS in needs else {}
        return replace(plan, proxied=plan.proxied or Need.LINKS in needs, environment={**plan.environment, **extra})

    @contextlib.contextmanager
    def standing(
        self, plan: Plan, *, clock: Clock, stop: threading.Event, progress: Callable[[Health], None]
    ) -> Iterator[ComposeStanding]:
        for folder, mode in ((plan.logs, 0o755), (plan.traces, 0o777)):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(mode)  # containers write traces as a user of their own
        project = _project(plan)
        bringing = Bringing(project, clock=clock)
        with GuardProcess() as guard:
            kept = guard.promise(Remove(project.name))  # if this process is killed
            with self._taken_down(project, bringing, kept, clock):
                bringing.up(stop)
                roster = _await(self._engine, project, clock, stop, progress)
                members = tuple(each.dialled(USUAL[ETCD]) for each in roster.members.values())
                yield ComposeStanding(self._engine, project, members, clock)

    @contextlib.contextmanager
    def _taken_down(self, project: Project, bringing: Bringing, kept: Promise, clock: Clock) -> Iterator[None]:
        """Take it down at the end of the block; what its containers said of an error is in the log folder then."""
        try:
            yield
        except BaseException as error:
            if not isinstance(error, Interrupted | NotAvailable):
                with contextlib.suppress(LockdError, OSError):
                    gather(self._engine, self._engine.containers(project.name), project.plan.logs)
            with contextlib.suppress(NotStarted):
                bringing.down()
            remove(self._engine, project.name, clock=clock)  # what was begun may have come to be meanwhile
            kept.release()
            raise
        bringing.down()
        kept.release()


def _project(plan: Plan) -> Project:
    unported = Project(plan=plan, name="")
    names = (*unported.members(), *plan.names(), *plan.daemon_names())
    return Project(
        plan=plan,
        name=f"lockd-chaos-{secrets.token_hex(4)}",
        ports=dict(zip(names, free_ports(len(names)), strict=True)),
        etcd_image=image("ETCD_IMAGE", ETCD_IMAGE),
        lockd_image=image("LOCKD_IMAGE", LOCKD_IMAGE),
    )


def _await(
    engine: Engine, project: Project, clock: Clock, stop: threading.Event, progress: Callable[[Health], None]
) -> Roster:
    """Wait until all are ready and one leads.

    Raises:
        NotStarted: A container ends again and again; has its last words.
        TooSlow: Time is up.
        Interrupted: `stop` was set.
    """
    end = clock.now() + PATIENCE
    while True:
        containers = engine.containers(project.name)
        roster = Roster.of(containers)
        seen = ask(roster)
        progress(seen)
        if seen.healthy:
            return roster
        if failed := failing(containers):
            words = engine.logs(failed[0].id).decode(errors="replace").strip().splitlines()
            said = f": {words[-1][:200]}" if words else ""
            ended = f"{failed[0].service} of {failed[0].image} ended with code {failed[0].exit_code}{said}"
            remedy = "if that is the wrong image, name another by LOCKD_IMAGE or ETCD_IMAGE"
            raise NotStarted((f"{ended}: {remedy}",), 1)
        if clock.wait(stop, STEP):
            raise Interrupted("stopped by a signal before the cluster was healthy; it is taken down")
        if clock.now() >= end:
            raise TooSlow(f"not healthy within {PATIENCE:g} s: {seen}; what they say is in {project.plan.logs}")
