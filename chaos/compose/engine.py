"""The Docker engine, asked through its SDK for Python: the one place that knows it. It is loaded when first needed."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from chaos.compose.container import PROJECT, Container
from component.process import Gone
from lockd.errors import LockdError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from chaos.cluster.interface import Membership
    from chaos.control import Wire

TIMEOUT: Final = 20.0
"""Seconds that the engine may take to answer."""

_HEAD: Final = struct.Struct(">B3xI")
"""Before each piece of what a command says: by which stream, and how many bytes."""

MISSING: Final = 404
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

    def containers(self, project: str = "") -> Sequence[Container]:
        """Those of a compose project, or of all of them; those that don't run too."""
        ...

    def container(self, id: str) -> Container:  # noqa: A002  # docker's own word
        """One of them now."""
        ...

    def run(self, id: str, words: Sequence[str]) -> tuple[int, str]:  # noqa: A002
        """Run a command inside; its exit code and what it printed."""
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

    def logs(self, id: str) -> bytes:  # noqa: A002
        """All that it wrote."""
        ...

    def remove(self, project: str) -> None:
        """Remove a compose project, whatever state it is in: its containers, networks and volumes."""
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

    def containers(self, project: str = "") -> tuple[Container, ...]:
        label = f"{PROJECT}={project}" if project else PROJECT
        with self._told(""):
            listed = self._client.api.containers(all=True, filters={"label": [label]})
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
            code = self._client.api.exec_inspect(made["Id"])["ExitCode"]
        return int(code or 0), said.decode(errors="replace")

    def talk(self, id: str, words: Sequence[str]) -> Wire:  # noqa: A002
        with self._told(id):
            made = self._client.api.exec_create(id, list(words), stdin=True, stderr=False)
            opened = self._client.api.exec_start(made["Id"], socket=True)
        return _Talk(opened)

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
        with self._told(id):
            self._client.api.connect_container_to_network(
                id, membership.network, aliases=list(membership.aliases) or None
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

    def logs(self, id: str) -> bytes:  # noqa: A002
        with self._told(id):
            said: bytes = self._client.api.logs(id)
        return said

    def remove(self, project: str) -> None:
        label = {"label": [f"{PROJECT}={project}"]}
        api = self._client.api
        with self._told(""):
            for each in api.containers(all=True, filters=label):
                with contextlib.suppress(Gone), self._told(each["Id"]):
                    api.remove_container(each["Id"], force=True, v=True)
            for each in api.networks(filters=label):
                with contextlib.suppress(Gone), self._told(each["Id"]):
                    api.remove_network(each["Id"])
            for each in api.volumes(filters=label)["Volumes"] or ():
                with contextlib.suppress(Gone), self._told(each["Name"]):
                    api.remove_volume(each["Name"], force=True)

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


class _Talk:
    """A `Wire`: the raw stream of a command, in which what it says comes in frames with heads of eight bytes."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self._socket: socket.socket = getattr(opened, "_sock", opened)
        self._socket.settimeout(TIMEOUT)
        self._left = 0

    def sendall(self, data: bytes, /) -> None:
        self._socket.sendall(data)

    def recv(self, most: int, /) -> bytes:
        if not self._left:
            head = b""
            while len(head) < _HEAD.size:
                more = self._socket.recv(_HEAD.size - len(head))
                if not more:
                    return b""
                head += more
            self._left = _HEAD.unpack(head)[1]
        data = self._socket.recv(min(most, self._left))
        self._left -= len(data)
        return data

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._opened.close()
        self._socket.close()


def explained(error: Exception, status: int | None) -> str:
    """What a failure of the engine means, as one line with its remedy."""
    said = " ".join(str(getattr(error, "explanation", None) or error).split())
    if status is not None:
        return f"the Docker engine refused ({said[:200]})"
    if "permission denied" in said.lower():
        return "this user may not use the Docker engine: join the group docker, or use sudo"
    where = os.environ.get("DOCKER_HOST") or "its usual socket"
    return f"no Docker engine answers at {where}: start it (systemctl start docker, or Docker Desktop)"
