"""The cluster in Docker under test; without a Docker engine its tests are left out, but not in CI."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

from lockd.etcd.loopback import free_ports
from tests.harness.programs import leave_out
from tests.harness.wait import eventually
from tools import compose as tool
from tools import engine

ROOT = Path(__file__).resolve().parents[2]
WITHIN = 300.0
"""Seconds in which a cluster must be healthy: what a person would wait for, several times over."""


def needed():
    """Leave the test out unless an engine and compose are there."""
    try:
        engine.check_engine()
        engine.find_compose()
    except engine.Refusal as reason:
        leave_out(str(reason))


def chaosctl(*words: str, **variables: str) -> Said:
    """How `chaosctl` of this source tree ends, and what it says."""
    command = [sys.executable, "-m", "chaos", *words]
    given = {name: value for name, value in os.environ.items() if not name.startswith(("CHAOSCTL_", "ETCDCTL_"))}
    done = subprocess.run(command, cwd=ROOT, env={**given, **variables}, capture_output=True, text=True, check=False)
    return Said(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True)
class Said:
    """How a command ended, and what it printed."""

    code: int
    stdout: str
    stderr: str


class Docked:
    """A cluster in Docker with a project and ports of its own; a context manager that leaves nothing.

    Attributes:
        told, came: What `make up` said, and how each container was when it had.
    """

    def __init__(self, *, tls: bool = False, **variables: str) -> None:
        names = (
            "REPLICA_1_PORT",
            "REPLICA_2_PORT",
            "REPLICA_3_PORT",
            "LOCKD_PORT",
            "LOCKD_HTTP_PORT",
            "PROMETHEUS_PORT",
        )
        self.ports = dict(zip(names, free_ports(len(names)), strict=True))
        self.project = f"lockd-test-{uuid.uuid4().hex[:8]}"
        self._tls = tls
        self.variables = {
            "COMPOSE_PROJECT_NAME": self.project,
            **{name: str(port) for name, port in self.ports.items()},
            **variables,
        }

    def __enter__(self):
        said = self.make("up", *(["--tls"] if self._tls else []), f"--within={WITHIN}")
        if said.code:
            logs = self.logs()
            self.make("down")
            raise AssertionError(f"{said.stderr}\n{logs}")
        self.told = said.stdout
        self.came = {name: each.status for name, each in self.containers().items()}
        return self

    def __exit__(self, *_):
        assert self.make("down").code == 0
        left = [engine.docker("ps", "--all", "--quiet", "--filter", self._label)]
        left += [engine.docker(kind, "ls", "--quiet", "--filter", self._label) for kind in ("network", "volume")]
        assert "".join(left) == ""

    @property
    def _label(self) -> str:
        return f"label=com.docker.compose.project={self.project}"

    def make(self, *words: str, tool: str = "compose", **variables: str) -> Said:
        """What `make` runs: a tool, with the words."""
        command = ["python3", "-m", f"tools.{tool}", *words]
        environment = {**os.environ, **self.variables, **variables}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        return Said(done.returncode, done.stdout, done.stderr)

    def containers(self) -> dict[str, engine.Container]:
        """All of them, by service."""
        return {each.service: each for each in engine.containers(self.project)}

    def replicas(self) -> list[engine.Container]:
        return [each for each in self.containers().values() if each.labels["lockd.role"] == "replica"]

    def leader(self) -> engine.Container | None:
        found = tool.leading(self.replicas())
        return None if found is None else found.container

    def heir(self, but: engine.Container) -> engine.Container:
        """Whoever leads next, once somebody else does."""
        return eventually(
            lambda: (found := self.leader()) is not None and found.id != but.id and found, within=WITHIN, what="an heir"
        )

    def whole(self) -> None:
        """Wait until all three replicas are there and one leads: what a test before did is over."""

        def there() -> bool:
            leads = [tool.ask(each).leads for each in self.replicas()]
            return (leads.count(True), leads.count(False)) == (1, 2)

        eventually(there, within=WITHIN)

    def inspect(self, container: engine.Container) -> dict:
        """All that docker knows of it now."""
        return json.loads(engine.docker("inspect", container.id))[0]

    def run(self, container: engine.Container, *words: str) -> str:
        """Run a command in a container; what it printed."""
        return engine.docker("exec", container.id, *words)

    def logs(self) -> str:
        """The last lines of each container."""
        return "\n".join(
            f"--- {name}: {each.status}\n{engine.docker('logs', '--tail', '30', each.id, errors=True)}"
            for name, each in self.containers().items()
        )
