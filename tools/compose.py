"""The cluster in Docker: `make up`, `make down`, `make logs`, `make leader`, `make kill`.

Needs Docker with compose (v2, or v1 from 1.28) and Python alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from ssl import _create_unverified_context
from typing import TYPE_CHECKING, TypeVar

from chaos.compose import explaining, settings
from tools import certs
from tools.engine import (
    FAILED,
    TIMED_OUT,
    Container,
    Refusal,
    build_environment,
    check_engine,
    containers,
    docker,
    find_compose,
    told,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "compose"
PROJECT = os.environ.get("COMPOSE_PROJECT_NAME") or "lockd"
IMAGE = "lockd:local"
"""Of replicas, lockd and commands, where LOCKD_IMAGE names no other."""

SERVED = 10259
COLLECTOR = "http://collector:4317"
PROFILES = ("demo", "observability", "prometheus")
WELL = ("healthy", "running")
POLL = 0.5
HEALTHY_WITHIN = 180.0
LEADER_WITHIN = 60.0

KILL = (
    "import os, time; child = open('/proc/1/task/1/children').read().split()[0]; "
    "at = time.time(); os.kill(int(child), 9); print(at)"
)
"""Said to Python in a container: kill what its init started, and tell when that was."""


# --- what is asked of replicas


@dataclass(frozen=True)
class Replica:
    """One replica, and what it says of the lock; `leads` is None where it says nothing."""

    container: Container
    url: str
    leads: bool | None
    leader: str


def ask(container: Container) -> Replica:
    """What a replica says at /leader."""
    port = container.published(SERVED)
    scheme = "https" if container.labels.get("lockd.serves") == "https" else "http"
    url = f"{scheme}://127.0.0.1:{port}"
    if port is None:
        return Replica(container, url, None, "")
    unchecked = _create_unverified_context() if scheme == "https" else None  # noqa: S323 - this host's own port
    try:
        with urllib.request.urlopen(f"{url}/leader", timeout=2.0, context=unchecked) as page:  # noqa: S310
            text = page.read()
    except urllib.error.HTTPError as error:
        with error:
            text = error.read()
    except OSError:
        return Replica(container, url, None, "")
    try:
        said = json.loads(text)
        return Replica(container, url, bool(said["leads"]), str(said["leader"]))
    except (ValueError, KeyError, TypeError):
        return Replica(container, url, None, "")


def replicas() -> list[Container]:
    found = [each for each in containers(PROJECT) if each.labels.get("lockd.role") == "replica"]
    if not found:
        raise Refusal(f"no replica of the project {PROJECT} is here", "make up")
    return found


def leading(among: Sequence[Container]) -> Replica | None:
    return next((each for each in map(ask, among) if each.leads), None)


# --- commands


class Compose:
    """The compose command and the files it is given."""

    def __init__(self, *, tls: bool = False) -> None:
        check_engine()
        self._words = find_compose()
        files = ["docker-compose.yml", *(["docker-compose.tls.yml"] if tls else [])]
        self._files = [word for name in files for word in ("-f", str(FOLDER / name))]

    def run(self, *words: str, options: Sequence[str] = (), **variables: str) -> str:
        """Run one of its commands, with further variables; what that printed on stdout."""
        command = [*self.command, *options, *words]
        given = {**collected(), **variables}
        done = subprocess.run(command, cwd=FOLDER, env=given, capture_output=True, text=True, check=False)
        if done.returncode:
            raise explaining.explained(done.stderr or done.stdout)
        return done.stdout

    @property
    def command(self) -> list[str]:
        return [*self._words, "--project-name", PROJECT, *self._files]


def say(line: str) -> None:
    print(f"compose: {line}", flush=True)


def variable(name: str) -> str:
    """A variable of the compose file, if it is set: in the environment, or in compose/.env."""
    return settings.variable(name, FOLDER / ".env")


def build() -> None:
    """Build the image of the project; if another is named, have that one here."""
    if named := variable("LOCKD_IMAGE"):
        pull(named)
        return
    words = ["docker", "build", "--quiet", "--file", str(FOLDER / "Dockerfile"), "--tag", IMAGE]
    if base := variable("PYTHON_IMAGE"):
        words += ["--build-arg", f"PYTHON_IMAGE={base}"]
    if "PIP_INDEX_URL" in os.environ:
        words += ["--build-arg", "PIP_INDEX_URL"]
    say("building the image; the first time takes a minute")
    done = subprocess.run([*words, str(ROOT)], env=build_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise explaining.explained(done.stderr or done.stdout)


def pull(image: str) -> None:
    """Get an image, unless it is here."""
    if subprocess.run(["docker", "image", "inspect", image], capture_output=True, check=False).returncode:
        done = subprocess.run(["docker", "pull", "--quiet", image], capture_output=True, text=True, check=False)
        if done.returncode:
            raise explaining.explained(done.stderr or done.stdout)


def collected() -> dict[str, str]:
    """The environment of compose, in which replicas send spans to the collector if it is asked for."""
    given = dict(os.environ)
    if "observability" in variable("COMPOSE_PROFILES").split(",") and not variable("OTLP_ENDPOINT"):
        given["OTLP_ENDPOINT"] = COLLECTOR
    return given


def up(*, tls: bool, within: float) -> None:
    """Bring the cluster up, and return once all of it is healthy and one replica leads."""
    compose = Compose(tls=tls)
    if tls and certs.ensure():
        say("made authorities and certificates in compose/.tls")
    build()
    began = time.monotonic()
    say("starting the containers")
    compose.run("up", "--detach", "--no-build")
    number = await_health(began + within)
    say(f"all {number} containers are healthy after {time.monotonic() - began:.0f} s")
    leader = until(
        lambda: leading(replicas()), began + within, lambda: Refusal("nobody leads yet", "make logs", code=TIMED_OUT)
    )
    say(f"{leader.container.service} leads: {leader.url}/statusz")
    for shows, url in filter(None, (each.page for each in containers(PROJECT))):
        say(f"{shows}: {url}")
    say("make leader tells who leads, make kill kills it, make logs follows the logs, make down ends it all")


def await_health(end: float) -> int:
    """Wait until all containers are healthy; how many they are."""

    def healthy() -> int:
        there = containers(PROJECT)
        for each in there:
            if each.ends_again_and_again:
                raise sick([each])
        return len(there) if all(each.status in WELL for each in there) else 0

    return until(healthy, end, lambda: sick([each for each in containers(PROJECT) if each.status not in WELL]))


def sick(found: Sequence[Container]) -> Refusal:
    """What is wrong with containers, the first one's last words included."""
    if not found:
        return Refusal("not all containers were healthy in time", "make logs tells more", code=TIMED_OUT)
    names = " and ".join(f"{each.service} is {each.status}" for each in found)
    said = docker("logs", "--tail", "1", found[0].id, errors=True).strip()
    state = f" (exit code {found[0].exit_code})" if found[0].exit_code else ""
    code = FAILED if found[0].ends_again_and_again else TIMED_OUT
    return Refusal(f"{names}{state}{f', its last words: {said}' if said else ''}", "make logs tells more", code=code)


def until(condition: Callable[[], T | None], end: float, late: Callable[[], Refusal]) -> T:
    """The first truthy result of a condition.

    Raises:
        Refusal: What `late` says, when time is up.
    """
    while not (found := condition()):
        if time.monotonic() >= end:
            raise late()
        time.sleep(POLL)
    return found


def down(*, keep: bool) -> None:
    """End the cluster and remove it: containers, networks and, unless they are to be kept, its data."""
    compose = Compose()
    options = [word for profile in PROFILES for word in ("--profile", profile)]
    compose.run("down", "--remove-orphans", *([] if keep else ["--volumes"]), options=options)
    say("it is gone, its data are kept" if keep else "it is gone, and so are its data")


def logs() -> None:
    """Follow all logs until Ctrl-C."""
    command = [*Compose().command, "logs", "--follow", "--tail", "50"]
    os.chdir(FOLDER)
    os.execvp(command[0], command)  # noqa: S606 - so that signals reach it


def leader() -> None:
    """Tell who leads; exit code 1 if nobody does."""
    check_engine()
    asked = [ask(each) for each in replicas()]
    for each in asked:
        state = {True: "leads", False: "stands by", None: f"does not answer ({each.container.status})"}[each.leads]
        print(f"{each.container.service}  {state}  {each.url}")
    if not any(each.leads for each in asked):
        raise Refusal("nobody leads", "wait a lease (15 s), then make logs")


def kill() -> None:
    """Kill the leader's process inside its container, as a crash would, and tell who leads next and how soon."""
    check_engine()
    among = replicas()
    found = leading(among)
    if found is None:
        raise Refusal("nobody leads", "wait a lease (15 s), then make logs")
    killed = found.container
    others = [each for each in among if each.id != killed.id]
    at = float(docker("exec", killed.id, "python3", "-c", KILL))
    say(f"killed {killed.service}, the leader, by kill -9")
    end = time.monotonic() + LEADER_WITHIN
    while (heir := leading(others)) is None:
        if time.monotonic() >= end:
            raise Refusal("nobody else leads", "make logs", code=TIMED_OUT)
    say(f"{heir.container.service} leads, {max(0.0, time.time() - at) * 1000:.0f} ms later")

    def back() -> bool:
        return ask(killed).leads is False

    until(back, end, lambda: Refusal(f"{killed.service} does not come back", "make logs", code=TIMED_OUT))
    say(f"{killed.service} stands by again, {time.time() - at:.1f} s after it was killed")


def main() -> None:
    parser = argparse.ArgumentParser(prog="compose", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    upwards = commands.add_parser("up", help=up.__doc__)
    upwards.add_argument("--tls", action="store_true", help="TLS everywhere: tools/certs.py makes the certificates")
    upwards.add_argument("--within", type=float, default=HEALTHY_WITHIN, metavar="SECONDS", help="when to give up")
    downwards = commands.add_parser("down", help=down.__doc__)
    downwards.add_argument("--keep", action="store_true", help="keep its data for the next time")
    for command in (logs, leader, kill):
        commands.add_parser(command.__name__, help=command.__doc__)
    asked = parser.parse_args()
    with told("compose"):
        match asked.command:
            case "up":
                up(tls=asked.tls, within=asked.within)
            case "down":
                down(keep=asked.keep)
            case other:
                {"logs": logs, "leader": leader, "kill": kill}[other]()


if __name__ == "__main__":
    main()
