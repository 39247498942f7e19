"""What heals a fault without the tool that applied it: plain values that go to the guard, and what each one does."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from chaos.cluster import state
from chaos.cluster.hosted import Continue
from chaos.cluster.interface import Membership
from chaos.compose.remedies import Rejoin, Remove, Revive, Unpause
from chaos.faults.errors import NotAvailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chaos.cluster.interface import Target
    from lockd.etcd.connection import Connection
    from lockd.etcd.gateway import Gateway

TIMEOUT: Final = 10.0
"""Seconds that etcd may take for one remedy."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How a remedy reaches etcd: a connection as plain values."""

    endpoints: tuple[str, ...]
    names: tuple[str, ...] = ()
    cacert: str | None = None
    cert: str | None = None
    key: str | None = None
    user: str | None = None
    password: str | None = None

    @classmethod
    def of(cls, connection: Connection) -> Reach:
        def text(path: Path | None) -> str | None:
            return None if path is None else str(path)

        return cls(
            connection.urls,
            connection.names,
            text(connection.cacert),
            text(connection.cert),
            text(connection.key),
            connection.user,
            connection.password,
        )

    @contextlib.contextmanager
    def gateway(self) -> Iterator[Gateway]:
        # Loaded only when wanted: a guard is to be there within moments.
        from lockd.etcd.connection import Connection  # noqa: PLC0415
        from lockd.etcd.gateway import Gateway  # noqa: PLC0415
        from lockd.etcd.witness import Witness  # noqa: PLC0415

        def path(text: str | None) -> Path | None:
            return None if text is None else Path(text)

        connection = Connection(
            endpoints=self.endpoints,
            names=self.names,
            cacert=path(self.cacert),
            cert=path(self.cert),
            key=path(self.key),
            user=self.user,
            password=self.password,
        )
        gateway = Gateway(connection, purpose="chaos-guard", witness=Witness())
        try:
            yield gateway
        finally:
            gateway.close()


@dataclass(frozen=True, slots=True)
class Overwrite:
    """A file gets back what it held."""

    path: str
    content: str
    """In hexadecimal digits."""

    def do(self) -> str:
        with contextlib.suppress(FileNotFoundError), Path(self.path).open("r+b") as file:
            file.write(bytes.fromhex(self.content))
        return f"{self.path} is as it was"


@dataclass(frozen=True, slots=True)
class Disarm:
    """An alarm that was raised ends."""

    reach: Reach
    member_id: int
    alarm: str

    def do(self) -> str:
        from lockd.etcd.maintenance import Alarm, Maintenance  # noqa: PLC0415

        with self.reach.gateway() as gateway:
            Maintenance(gateway).disarm(Alarm(self.member_id, self.alarm), timeout=TIMEOUT)
        return f"the alarm {self.alarm} is disarmed"


@dataclass(frozen=True, slots=True)
class Withdraw:
    """A key that holds what a fault put there is deleted; one that somebody has written since stays."""

    reach: Reach
    key: str
    value: str

    def do(self) -> str:
        from lockd.ports import Compare, Delete, Field, Txn  # noqa: PLC0415

        ours = Compare(self.key, Field.VALUE, self.value.encode())
        with self.reach.gateway() as gateway:
            gateway.txn(Txn(compares=(ours,), then=(Delete(self.key),)), timeout=TIMEOUT)
        return f"{self.key} holds nothing of ours"


@dataclass(frozen=True, slots=True)
class Start:
    """A process that nobody else starts again is started: an etcd member of a local cluster."""

    folder: str
    name: str

    def do(self) -> str:
        from chaos.cluster.local import LocalCluster  # noqa: PLC0415

        folder = Path(self.folder)
        with Reach(state.read(folder).endpoints).gateway() as gateway:
            cluster = LocalCluster(folder, gateway)
            for member in cluster.etcd_members():
                if member.name == self.name:
                    cluster.start(member)
        return f"{self.name} runs"


class Remedies(Protocol):
    """What heals a cluster of one kind without the tool that hurt it."""

    def go_on(self, target: Target) -> Remedy:
        """What lets a stopped process go on."""
        ...

    def start(self, target: Target) -> Remedy:
        """What starts an ended one again, which nobody else does."""
        ...

    def join(self, target: Target, memberships: Sequence[Membership]) -> Remedy:
        """What puts one back into its networks."""
        ...


@dataclass(frozen=True, slots=True)
class LocalRemedies:
    """Those of a cluster of processes of this host, described in a folder."""

    folder: Path | None

    def go_on(self, target: Target) -> Continue:
        return Continue(target.pid, target.started)

    def start(self, target: Target) -> Start:
        return Start(str(self.folder), target.name)

    def join(self, target: Target, memberships: Sequence[Membership]) -> Remedy:
        raise NotAvailable(f"{target.name} is in no network of its own to be put back into ({len(memberships)})")


Remedy = Continue | Overwrite | Disarm | Withdraw | Start | Unpause | Revive | Rejoin | Remove

KINDS: Final = {
    kind.__name__: kind for kind in (Continue, Overwrite, Disarm, Withdraw, Start, Unpause, Revive, Rejoin, Remove)
}


def encode(remedy: Remedy) -> str:
    """One line."""
    return json.dumps({"kind": type(remedy).__name__, **asdict(remedy)})


def decode(line: str) -> Remedy:
    """The remedy that `encode` made the line of."""
    document: dict[str, Any] = json.loads(line)
    kind = KINDS[document.pop("kind")]
    if "reach" in document:
        reach = document["reach"]
        document["reach"] = Reach(**{**reach, **{each: tuple(reach[each]) for each in ("endpoints", "names")}})
    if "memberships" in document:
        document["memberships"] = tuple(
            Membership(**{**each, "aliases": tuple(each["aliases"]), "fixed": tuple(each["fixed"])})
            for each in document["memberships"]
        )
    remedy: Remedy = kind(**document)
    return remedy
