"""Names, ports and token of an etcd of our own: written down beside its data, which knows them too."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, Self

from lockd.errors import ConfigError
from lockd.etcd.loopback import free_ports

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_FILE: Final = "members.json"


@dataclass(frozen=True, slots=True)
class Plan:
    """A cluster to run in `folder`.

    Attributes:
        token: Tells its members from those of other clusters.
        ports: For each member's name its port for clients and its port for the other members.
    """

    folder: Path
    token: str
    ports: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, folder: Path, members: int) -> Self:
        """A new plan, or the one of a folder that has served before.

        Raises:
            ConfigError: The folder can't be used, or is of another number of members.
        """
        if members not in (1, 3):
            raise ConfigError((f"etcd runs with 1 member or 3, not {members}",))
        path = folder / _FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            plan = cls._read(path) if path.exists() else cls._new(path, members)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError((f"{folder} can't hold an etcd's data: {error}",)) from error
        if len(plan.ports) != members:
            raise ConfigError((f"{folder} holds an etcd of {len(plan.ports)} members, not {members}",))
        return plan

    @classmethod
    def _read(cls, path: Path) -> Self:
        document = json.loads(path.read_text(encoding="utf-8"))
        ports = {str(name): (int(client), int(peer)) for name, (client, peer) in document["ports"].items()}
        return cls(path.parent, str(document["token"]), ports)

    @classmethod
    def _new(cls, path: Path, members: int) -> Self:
        ports = free_ports(2 * members)
        names = [f"etcd-{number}" for number in range(1, members + 1)]
        plan = cls(path.parent, secrets.token_hex(8), {name: (ports.pop(), ports.pop()) for name in names})
        document = {name: value for name, value in asdict(plan).items() if name != "folder"}
        path.write_text(json.dumps(document), encoding="utf-8")
        return plan

    def flags(self, name: str, scheme: str) -> list[str]:
        """etcd's flags for a member; `scheme` is how it serves clients."""
        client, peer = self.ports[name]
        cluster = ",".join(f"{other}=http://127.0.0.1:{ports[1]}" for other, ports in self.ports.items())
        return [
            f"--name={name}",
            f"--data-dir={self.folder / name}",
            f"--listen-client-urls={scheme}://127.0.0.1:{client}",
            f"--advertise-client-urls={scheme}://127.0.0.1:{client}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-cluster={cluster}",
            f"--initial-cluster-token={self.token}",
            "--logger=zap",
        ]
