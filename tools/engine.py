"""Docker as the tools use it: where it is, whether it will do, and one clear line where it won't."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, NoReturn

from chaos.compose.command import FAILED, TIMED_OUT, USAGE, Refusal, find_compose, run

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FAILED", "TIMED_OUT", "USAGE", "Refusal", "find_compose"]

INTERRUPTED = 130


@contextmanager
def told(program: str) -> Iterator[None]:
    """Turn a refusal into its line and exit code, and Ctrl-C into 130."""
    try:
        yield
    except Refusal as refusal:
        print(f"{program}: {' '.join(str(refusal).split())}", file=sys.stderr)
        raise SystemExit(refusal.code) from None
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


def needs(program: str, remedy: str) -> None:
    """Refuse to go on without a program."""
    if shutil.which(program) is None:
        raise Refusal(f"there is no {program} here", remedy)


# --- the engine

_NO_DOCKER = "install Docker Engine (Debian: apt-get install docker.io docker-compose)"


def refuse_engine(error: str) -> NoReturn:
    """The line for an engine that can't be asked."""
    said = (error.strip().splitlines() or ["docker does not say why"])[-1]
    if "permission denied" in error.lower():
        raise Refusal(f"this user may not use the Docker engine ({said})", "join the group docker, or use sudo")
    where = os.environ.get("DOCKER_HOST") or "its usual socket"
    raise Refusal(
        f"no Docker engine answers at {where} ({said})", "start it: systemctl start docker, or Docker Desktop"
    )


def check_engine() -> None:
    """Refuse to go on without a Docker engine that answers."""
    needs("docker", _NO_DOCKER)
    try:
        asked = run(["docker", "version", "--format", "{{.Server.Version}}"], timeout=20.0)
    except subprocess.TimeoutExpired:
        refuse_engine("it does not answer within 20 s")
    if asked.returncode:
        refuse_engine(asked.stderr)


def docker(*words: str, stdin: IO[bytes] | None = None, errors: bool = False) -> str:
    """Run a docker command; what it printed.

    Args:
        errors: What it printed on stderr too.
    """
    needs("docker", _NO_DOCKER)
    done = subprocess.run(["docker", *words], stdin=stdin, capture_output=True, check=False)
    error = done.stderr.decode(errors="replace")
    if done.returncode and ("daemon" in error and ("connect" in error or "permission denied" in error)):
        refuse_engine(error)
    if done.returncode:
        said = (error.strip().splitlines() or ["it failed"])[-1]
        raise Refusal(f"docker {words[0]} failed: {said}", "see docker's own log")
    return done.stdout.decode(errors="replace") + (error if errors else "")


def build_environment() -> dict[str, str]:
    """Of a build: without buildx the builder that the engine itself has."""
    given = dict(os.environ)
    if "DOCKER_BUILDKIT" not in given and run(["docker", "buildx", "version"], timeout=20.0).returncode:
        given["DOCKER_BUILDKIT"] = "0"
    return given


# --- containers

OFTEN = 3
"""Restarts after which it won't do by itself."""


def containers(project: str) -> list[Container]:
    """The containers of a compose project, in order of their services, those that don't run too."""
    label = f"label=com.docker.compose.project={project}"
    ids = docker("ps", "--all", "--quiet", "--filter", label).split()
    if not ids:
        return []
    found = [Container(each) for each in json.loads(docker("inspect", *ids))]
    # what `compose run` made is somebody's own
    return sorted((each for each in found if not each.one_off), key=lambda each: each.service)


class Container:
    """What `docker inspect` says of one."""

    def __init__(self, document: dict[str, object]) -> None:
        self._document: dict[str, dict[str, object]] = document  # type: ignore[assignment]  # docker's own form
        self.id = str(document["Id"])
        labels: dict[str, str] = self._document["Config"]["Labels"]  # type: ignore[assignment]
        self.labels = labels
        self.service = labels.get("com.docker.compose.service", "")

    @property
    def one_off(self) -> bool:
        return self.labels.get("com.docker.compose.oneoff", "").lower() == "true"

    @property
    def status(self) -> str:
        """`healthy`, `starting`, `unhealthy`; without a health check `running`; else docker's word."""
        state = self._document["State"]
        health = state.get("Health")
        if state["Status"] == "running" and isinstance(health, dict):
            return str(health["Status"])
        return str(state["Status"])

    @property
    def ends_again_and_again(self) -> bool:
        """Docker starts it anew, and it ends each time."""
        return self._document["State"]["Status"] == "restarting" and int(str(self._document["RestartCount"])) >= OFTEN

    @property
    def exit_code(self) -> int:
        return int(str(self._document["State"]["ExitCode"]))

    def published(self, port: int) -> int | None:
        """The port of the host that leads to one of its ports."""
        bound = self._ports.get(f"{port}/tcp")
        return int(bound[0]["HostPort"]) if bound else None

    @property
    def page(self) -> tuple[str, str] | None:
        """What it shows in a browser, and where on this host, if anything."""
        shows = self.labels.get("lockd.page")
        bound = next((each for each in self._ports.values() if each), None)
        return (shows, f"http://127.0.0.1:{bound[0]['HostPort']}") if shows and bound else None

    @property
    def _ports(self) -> dict[str, list[dict[str, str]] | None]:
        return self._document["NetworkSettings"]["Ports"]  # type: ignore[return-value]
