"""The compose project that a run makes for itself: the deployment of compose/, for any number of each. Pure.

What containers write is on this host at the same path as inside, so that a path means the same to both.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from chaos.compose.container import ROLE
from chaos.proxy.link import ETCD, STRANGER, Link

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chaos.cluster.plan import Plan

ETCD_IMAGE: Final = "gcr.io/etcd-development/etcd:v3.6.5"
LOCKD_IMAGE: Final = "lockd:local"
HOST: Final = "127.0.0.1"

CLIENT: Final = 2379
SERVED: Final = 10259
PRESENCE: Final = 10260
LOCKS: Final = 7600
HEALTH: Final = 7601
FIRST_DOOR: Final = 20000
"""The port inside the proxy's container of its first link."""

SIDECAR: Final = "links"
"""The service of the proxy; its label's role too."""

_START: Final = 'exec "$@" --trace-file={beginning}$(date +%s%N).jsonl'
"""Each start writes a trace file of its own: the last line of the one before may be torn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """What is to be brought up.

    Attributes:
        name: Of the compose project.
        ports: The port of this host for each replica, member and `lockd`, by name.
        etcd_image, lockd_image: Images.
    """

    plan: Plan
    name: str
    ports: Mapping[str, int] = field(default_factory=dict)
    etcd_image: str = ETCD_IMAGE
    lockd_image: str = LOCKD_IMAGE

    def members(self) -> tuple[str, ...]:
        return tuple(f"etcd-{number}" for number in range(1, self.plan.members + 1))

    def doors(self) -> dict[Link, int]:
        """The port of the proxy for each link; all that lead to one replica's presence share theirs."""
        if not self.plan.proxied:
            return {}
        replicas, clients = self.plan.names(), (*self.plan.names(), *self.plan.daemon_names())
        to_etcd = [Link(source, member) for source in clients for member in self.members()]
        found = {link: FIRST_DOOR + index for index, link in enumerate(to_etcd)}
        for index, replica in enumerate(replicas):
            port = FIRST_DOOR + len(to_etcd) + index
            found |= {Link(source, replica): port for source in (*replicas, STRANGER) if source != replica}
        return found

    def document(self) -> dict[str, Any]:
        """The compose file, for compose v1 and v2."""
        plan = self.plan
        services = {name: self._member(name) for name in self.members()}
        services |= {name: self._replica(name) for name in plan.names()}
        services |= {name: self._daemon(name) for name in plan.daemon_names()}
        if plan.proxied:
            services[SIDECAR] = self._sidecar()
        return {
            "services": services,
            "networks": {"cluster": {}},
            "volumes": {name: {} for name in self.members()},
        }

    def _endpoints(self, name: str) -> str:
        """etcd's members as a client of this name dials them."""
        doors = self.doors()
        if not doors:
            return ",".join(f"{member}:{CLIENT}" for member in self.members())
        return ",".join(
            f"{SIDECAR}:{port}" for link, port in doors.items() if link.source == name and link.kind == ETCD
        )

    def _advertised(self, name: str) -> str:
        return f"{SIDECAR}:{self.doors()[Link(STRANGER, name)]}" if self.plan.proxied else f"{name}:{PRESENCE}"

    def _member(self, name: str) -> dict[str, Any]:
        peers = ",".join(f"{member}=http://{member}:2380" for member in self.members())
        return {
            "image": self.etcd_image,
            "command": ["etcd"],
            "hostname": name,
            "init": True,
            "networks": ["cluster"],
            "labels": {ROLE: ETCD},
            "stop_grace_period": "10s",
            "environment": {
                "ETCD_NAME": name,
                "ETCD_DATA_DIR": "/var/lib/etcd/data",
                "ETCD_INITIAL_CLUSTER": peers,
                "ETCD_INITIAL_CLUSTER_TOKEN": self.name,
                "ETCD_INITIAL_CLUSTER_STATE": "new",
                "ETCD_LISTEN_CLIENT_URLS": f"http://0.0.0.0:{CLIENT}",
                "ETCD_LISTEN_PEER_URLS": "http://0.0.0.0:2380",
                "ETCD_ADVERTISE_CLIENT_URLS": f"http://{name}:{CLIENT}",
                "ETCD_INITIAL_ADVERTISE_PEER_URLS": f"http://{name}:2380",
                "ETCD_LOGGER": "zap",
                "ETCD_LOG_LEVEL": "warn",
            },
            "volumes": [f"{name}:/var/lib/etcd"],
            "ports": [f"{HOST}:{self.ports[name]}:{CLIENT}"],
        }

    def _client(self, name: str, role: str, words: tuple[str, ...]) -> dict[str, Any]:
        """What replicas and `lockd` have in common."""
        start = _START.format(beginning=shlex.quote(f"{self.plan.traces}/{name}."))
        variables = {"LOCKD_PREFIX": self.plan.prefix, **self.plan.environment.get(name, {})}
        return {
            "image": self.lockd_image,
            "command": [_kept(word) for word in ("sh", "-c", start, name, *words)],
            "hostname": name,
            "init": True,
            "restart": "unless-stopped",
            "networks": ["cluster"],
            "labels": {ROLE: role},
            "stop_grace_period": "20s",
            "environment": {
                "ETCDCTL_ENDPOINTS": self._endpoints(name),
                **{key: _kept(value) for key, value in variables.items()},
            },
            "volumes": [
                {"type": "bind", "source": _kept(folder), "target": _kept(folder)} for folder in self._shared()
            ],
            "read_only": True,
            "tmpfs": ["/tmp"],  # noqa: S108 - inside
        }

    def _shared(self) -> tuple[str, ...]:
        """The folders that containers write to, or read."""
        clocks = self.plan.folder / "clocks"
        return (str(self.plan.traces), *((str(clocks),) if self.plan.environment else ()))

    def _replica(self, name: str) -> dict[str, Any]:
        words = (
            *("replica", "run", "--bind-address=0.0.0.0", "--logging-format=json"),
            f"--presence-bind=0.0.0.0:{PRESENCE}",
            f"--presence-advertise={self._advertised(name)}",
            *self.plan.flags,
        )
        return {**self._client(name, "replica", words), "ports": [f"{HOST}:{self.ports[name]}:{SERVED}"]}

    def _daemon(self, name: str) -> dict[str, Any]:
        words = (
            *("lockd", "serve", f"--listen=0.0.0.0:{LOCKS}", "--insecure-listen"),
            *(f"--http-listen=0.0.0.0:{HEALTH}", "--logging-format=json"),
        )
        return {**self._client(name, "lockd", words), "ports": [f"{HOST}:{self.ports[name]}:{LOCKS}"]}

    def _sidecar(self) -> dict[str, Any]:
        doors = [[link.source, link.destination, port] for link, port in self.doors().items()]
        targets = {name: f"{name}:{CLIENT}" for name in self.members()}
        targets |= {name: f"{name}:{PRESENCE}" for name in self.plan.names()}
        return {
            "image": self.lockd_image,
            "command": ["python3", "-m", "chaos.proxy.sidecar", _compact({"doors": doors, "targets": targets})],
            "hostname": SIDECAR,
            "init": True,
            "networks": ["cluster"],
            "labels": {ROLE: SIDECAR},
            "stop_grace_period": "2s",
        }


def _kept(text: str) -> str:
    """Compose takes a dollar for a variable."""
    return text.replace("$", "$$")


def _compact(document: dict[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"))
