"""The Docker engine, asked through its SDK for Python: the one place that knows it. It is loaded when first needed."""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from chaos.compose.container import PROJECT, ROLE, Container
from chaos.compose.talk import Talk
from component.process import Gone
from lockd.errors import LockdError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from chaos.cluster.interface import Membership
    from chaos.control import Wire

TIMEOUT: Final = 20.0
"""Seconds that the engine may take to answer."""

MISSING: Final = 404
KILLED: Final = 137
ENDED: Final = ("is not running", "is not connected to network", "not connected to the network")
"""What the engine says of a container that has ended meanwhile, whatever was asked of it."""


class EngineError(LockdError):
    """The engine can't be asked, or won't do it; one line with the remedy."""


@dataclass(frozen=True, slots=True)
class Event:
    """What the engine told of a container or a network.

    Attributes:
        kind: `container` or `network`.
        what: `start`, `die`, `pause`, `disconnect` ...
        container: Its id.
        at: Nanoseconds since 1970, by the engine's clock.
        exit_code: Of `die`.
        network: Of `connect` and `disconnect`.
    """

    kind: str
    what: str
    container: str
    at: int
    exit_code: int = 0
    network: str = ""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Event | None:
        """The event that a document of `docker events` tells; None: it is of another kind."""
        actor = document.get("Actor") or {}
        attributes = actor.get("Attributes") or {}
        kind, what = document.get("Type", ""), str(document.get("Action", "")).partition(":")[0]
        if kind == "container":
            written = str(attributes.get("exitCode", "0"))
            code = int(written) if written.lstrip("-").isdecimal() else 0
            return cls(kind, what, actor.get("ID", ""), int(document.get("timeNano", 0)), exit_code=code)
        if kind == "network":
            name, container = attributes.get("name", ""), attributes.get("container", "")
            return cls(kind, what, container, int(document.get("timeNano", 0)), network=name)
        return None


class Engine(Protocol):
    """What is asked of an engine. Every method raises EngineError when it can't be asked, and Gone for no container."""

    def containers(self, project: str = "", role: str = "") -> Sequence[Container]:
        """Those of a compose project, or of all of them, or those of a role among them; those that don't run too."""
        ...

    def container(self, id: str) -> Container:  # noqa: A002  # docker's own word
        """One of them now."""
        ...

    def run(self, id: str, words: Sequence[str]) -> tuple[int, str]:  # noqa: A002
        """Run a command inside; its exit code and what it printed. It is killed, 137, when the container ends."""
        ...

    def talk(self, id: str, words: Sequence[str]) -> Wire:  # noqa: A002
        """Run a command inside that is talked to: what is sent is its input, which ends when the wire is closed."""
        ...

    def pause(self, id: str) -> None:  # noqa: A002
        """Freeze all its processes."""
        ...

    def unpause(self, id: str) -> None:  # noqa: A002
        """Let them go on; one that isn't paused is left alone."""
        ...

    def start(self, id: str) -> None:  # noqa: A002
        """Start one that has ended; one that runs is left alone."""
        ...

    def stop(self, id: str) -> None:  # noqa: A002
        """Have it end, and leave it ended."""
        ...

    def leave(self, id: str, network: str) -> None:  # noqa: A002
        """Take it off a network; what it says there arrives nowhere from now on."""
        ...

    def join(self, id: str, membership: Membership) -> None:  # noqa: A002
        """Put it into a network again, under its aliases; one that is there is left alone."""
        ...

    def events(self, take: Callable[[Event], None]) -> Callable[[], None]:
        """Tell of all that happens to containers and networks from now on, on a thread, until the result is called."""
        ...

    def past(self, container: str, since: float, until: float) -> Sequence[Event]:
        """What happened to one container between two wall seconds, as far as the engine remembers."""
        ...

    def logs(self, id: str, since: float = 0.0) -> bytes:  # noqa: A002
        """What it wrote since a moment in wall seconds; 0: all of it."""
        ...

    def remove(self, project: str) -> bool:
        """Remove a compose project, whatever state it is in: its containers, networks and volumes, as far as they go.

        Returns:
            Was there nothing of it any more? Otherwise ask again: something may have been in the way of others.
        """
        ...


class DockerEngine:
    """An `Engine`: the one that DOCKER_HOST names, or that of this host."""

    def __init__(self) -> None:
        """Connect.

        Raises:
            EngineError: There is no SDK, or no engine that answers.
        """
        try:
            import docker  # noqa: PLC0415 - takes as long to load as many commands to run
            import docker.errors  # noqa: PLC0415
        except ImportError as error:
            raise EngineError(
                f"clusters of containers take the docker package ({error}): pip install 'lockd[chaos]'"
            ) from error
        self._errors: Any = docker.errors
        # what requests raises is an OSError
        self._unreached: tuple[type[Exception], ...] = (docker.errors.DockerException, OSError)
        with self._told(""):
            self._client: Any = docker.from_env(timeout=int(TIMEOUT))
            self._client.ping()

    def containers(self, project: str = "", role: str = "") -> tuple[Container, ...]:
        labels = [f"{PROJECT}={project}" if project else PROJECT, *([f"{ROLE}={role}"] if role else [])]
        with self._told(""):
            listed = self._client.api.containers(all=True, filters={"label": labels})
        found = []
        for each in listed:
            with contextlib.suppress(Gone):  # removed meanwhile
                found.append(self.container(each["Id"]))
        return tuple(found)

    def container(self, id: str) -> Container:  # noqa: A002
        with self._told(id):
            return Container.of(self._client.api.inspect_container(id))

    def run(self, id: str, words: Sequence[str]) -> tuple[int, str]:  # noqa: A002
        with self._told(id):
            made = self._client.api.exec_create(id, list(words))
            said = self._client.api.exec_start(made["Id"])
        try:
            with self._told(id):
                code = self._client.api.exec_inspect(made["Id"])["ExitCode"]
        except Gone:
            code = KILLED  # by what it did, perhaps
        return int(code or 0), said.decode(errors="replace")

    def talk(self, id: str, words: Sequence[str]) -> Wire:  # noqa: A002
        with self._told(id):
            made = self._client.api.exec_create(id, list(words), stdin=True, stderr=False)
            opened = self._client.api.exec_start(made["Id"], socket=True)
        return Talk(opened, timeout=TIMEOUT)

    def pause(self, id: str) -> None:  # noqa: A002
        with self._told(id):
            self._client.api.pause(id)

    def unpause(self, id: str) -> None:  # noqa: A002
        if self.container(id).paused:
            with self._told(id):
                self._client.api.unpause(id)

    def start(self, id: str) -> None:  # noqa: A002
        with self._told(id):
            self._client.api.start(id)

    def stop(self, id: str) -> None:  # noqa: A002
        with self._told(id):
            self._client.api.stop(id)

    def leave(self, id: str, network: str) -> None:  # noqa: A002
        with self._told(id):
            self._client.api.disconnect_container_from_network(id, network, force=True)

    def join(self, id: str, membership: Membership) -> None:  # noqa: A002
        if any(each.network == membership.network for each in self.container(id).networks):
            return
        four, six = (next((each for each in membership.fixed if (":" in each) is kind), None) for kind in (False, True))
        with self._told(id):
            self._client.api.connect_container_to_network(
                *(id, membership.network),
                aliases=list(membership.aliases) or None,
                ipv4_address=four,
                ipv6_address=six,
            )

    def events(self, take: Callable[[Event], None]) -> Callable[[], None]:
        wanted = {"type": ["container", "network"]}
        with self._told(""):
            stream = self._client.api.events(decode=True, filters=wanted)

        def follow() -> None:
            with contextlib.suppress(*self._unreached, ValueError, AttributeError):  # closed in the middle of a read
                for document in stream:
                    if (event := Event.of(document)) is not None:
                        take(event)

        follower = threading.Thread(target=follow, name="chaos/docker-events", daemon=True)
        follower.start()

        def end() -> None:
            with contextlib.suppress(Exception):
                stream.close()
            follower.join(TIMEOUT)

        return end

    def past(self, container: str, since: float, until: float) -> tuple[Event, ...]:
        with self._told(""):
            documents = list(self._client.api.events(decode=True, since=f"{since:.9f}", until=f"{until:.9f}"))
        found = (Event.of(document) for document in documents)
        return tuple(event for event in found if event is not None and event.container == container)

    def logs(self, id: str, since: float = 0.0) -> bytes:  # noqa: A002
        with self._told(id):
            said: bytes = self._client.api.logs(id, since=since or None)
        return said

    def remove(self, project: str) -> bool:
        label = {"label": [f"{PROJECT}={project}"]}
        api = self._client.api
        with self._told(""):
            containers = [each["Id"] for each in api.containers(all=True, filters=label)]
        for each in containers:
            self._try(each, partial(api.remove_container, each, force=True, v=True))
        with self._told(""):
            networks = [each["Id"] for each in api.networks(filters=label)]
            volumes = [each["Name"] for each in api.volumes(filters=label)["Volumes"] or ()]
        for each in networks:
            self._try(each, partial(api.remove_network, each))
        for each in volumes:
            self._try(each, partial(api.remove_volume, each, force=True))
        return not (containers or networks or volumes)

    def _try(self, what: str, step: Callable[[], object]) -> None:
        """Do something that need not succeed; the others are to be done all the same."""
        with contextlib.suppress(Gone, EngineError), self._told(what):
            step()

    @contextlib.contextmanager
    def _told(self, container: str) -> Iterator[None]:
        """Turn the SDK's errors into ours, at once and with their cause."""
        try:
            yield
        except self._unreached as error:
            status = getattr(getattr(error, "response", None), "status_code", None)
            if status == MISSING and container:
                raise Gone(f"container {container[:12]} is not there any more") from error
            if container and any(said in str(error) for said in ENDED):
                raise Gone(f"container {container[:12]} has ended") from error
            raise EngineError(explained(error, status)) from error


def explained(error: Exception, status: int | None) -> str:
    """What a failure of the engine means, as one line with its remedy."""
    said = " ".join(str(getattr(error, "explanation", None) or error).split())
    if status is not None:
        return f"the Docker engine refused ({said[:200]})"
    if "permission denied" in said.lower():
        return "this user may not use the Docker engine: join the group docker, or use sudo"
    where = os.environ.get("DOCKER_HOST") or "its usual socket"
    return f"no Docker engine answers at {where}: start it (systemctl start docker, or Docker Desktop)"
