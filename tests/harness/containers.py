"""Containers as an engine tells of them, and an engine without Docker: it does what Docker does, at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from chaos.cluster.interface import Membership
from chaos.compose.container import NUMBER, PROJECT, ROLE, SERVICE, Container
from chaos.compose.engine import Event
from component.process import Gone

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SECOND = 10**9
BEGAN = 1_700_000_000 * SECOND


def container(service: str, role: str = "", *, project: str = "p", number: int = 1, **fields: Any) -> Container:
    """A running container of a project; its id is its name, filled up."""
    labels = {PROJECT: project, SERVICE: service, NUMBER: str(number), **fields.pop("labels", {})}
    if role:
        labels[ROLE] = role
    given = {
        "id": f"{project}-{service}-{number}".ljust(64, "0"),
        "name": f"{project}-{service}-{number}",
        "labels": labels,
        "hostname": service,
        "pid": 0,
        "started": BEGAN,
        "running": True,
        "ports": {},
        "environment": {},
        "networks": (Membership(f"{project}_default", (service,), "172.18.0.2"),),
        "restarts": role != "etcd",
        **fields,
    }
    return Container(**given)


@dataclass
class FakeEngine:
    """An `Engine`. What ends inside is started again at once where its policy says so; time goes on by a second each.

    Attributes:
        said: What a command inside ends with.
    """

    found: dict[str, Container] = field(default_factory=dict)
    said: tuple[int, str] = (0, "")
    told: list[Event] = field(default_factory=list)
    asked: list[tuple[str, ...]] = field(default_factory=list)
    now: int = BEGAN
    _take: Callable[[Event], None] | None = None

    def add(self, *containers: Container) -> FakeEngine:
        self.found |= {each.id: each for each in containers}
        return self

    def containers(self, project: str = "", role: str = "") -> tuple[Container, ...]:
        found = (each for each in self.found.values() if not role or each.role == role)
        return tuple(each for each in found if not project or each.project == project)

    def container(self, id: str) -> Container:  # noqa: A002
        if id not in self.found:
            raise Gone(f"container {id[:12]} is not there any more")
        return self.found[id]

    def run(self, id: str, words: Sequence[str]) -> tuple[int, str]:  # noqa: A002
        self._running(id)
        self.asked.append(tuple(words))
        if self.said[0] == 0:
            self.crash(id, 137 if words[-1] == "KILL" else 0)
        return self.said

    def crash(self, id: str, code: int) -> None:  # noqa: A002
        """What runs inside ends."""
        self._ended(id, code)
        if self.found[id].restarts:
            self.start(id)

    def pause(self, id: str) -> None:  # noqa: A002
        self._set(self._running(id), "pause", paused=True)

    def unpause(self, id: str) -> None:  # noqa: A002
        if self.container(id).paused:
            self._set(self._running(id), "unpause", paused=False)

    def start(self, id: str) -> None:  # noqa: A002
        if not self.container(id).running:
            self._tell("start", id)
            self._change(id, running=True, started=self.now)

    def stop(self, id: str) -> None:  # noqa: A002
        if self.container(id).running:
            self._ended(id, 0)

    def leave(self, id: str, network: str) -> None:  # noqa: A002
        left = tuple(each for each in self.container(id).networks if each.network != network)
        self._tell("disconnect", id)
        self._change(id, networks=left)

    def join(self, id: str, membership: Membership) -> None:  # noqa: A002
        there = self.container(id).networks
        if all(each.network != membership.network for each in there):
            self._change(id, networks=(*there, membership))

    def events(self, take: Callable[[Event], None]) -> Callable[[], None]:
        self._take = take

        def end() -> None:
            self._take = None

        return end

    def past(self, container: str, since: float, until: float) -> tuple[Event, ...]:
        return tuple(each for each in self.told if each.container == container and since <= each.at / SECOND <= until)

    def logs(self, id: str, since: float = 0.0) -> bytes:  # noqa: A002
        return f"{self.container(id).name}\n".encode()

    def remove(self, project: str) -> bool:
        there = [each.id for each in self.containers(project)]
        for id in there:  # noqa: A001
            del self.found[id]
        return not there

    def _running(self, id: str) -> str:  # noqa: A002
        if not self.container(id).running:
            raise Gone(f"container {id[:12]} has ended")
        return id

    def _ended(self, id: str, code: int) -> None:  # noqa: A002
        self._tell("die", self._running(id), code)
        self._change(id, running=False, paused=False, exit_code=code)

    def _set(self, id: str, what: str, **fields: Any) -> None:  # noqa: A002
        self._tell(what, id)
        self._change(id, **fields)

    def _change(self, id: str, **fields: Any) -> None:  # noqa: A002
        self.found[id] = replace(self.found[id], **fields)

    def _tell(self, what: str, id: str, code: int = 0) -> None:  # noqa: A002
        self.now += SECOND
        event = Event("container", what, id, self.now, exit_code=code)
        self.told.append(event)
        if self._take is not None:
            self._take(event)
