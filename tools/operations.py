"""What is done to the cluster in Docker while it goes on: `make upgrade`, `make replace MEMBER=etcd-2`."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING

from tools.compose import HEALTHY_WITHIN, IMAGE, PROJECT, WELL, Compose, ask, leading, replicas, say, until, variable
from tools.engine import TIMED_OUT, USAGE, Refusal, containers, docker, told

if TYPE_CHECKING:
    from tools.engine import Container


def upgrade() -> None:
    """Make the replicas anew one after the other, with the image of LOCKD_IMAGE: standbys first, the leader last."""
    compose = Compose()
    among = replicas()
    leads = leading(among)
    for each in sorted(among, key=lambda each: (leads is not None and each.id == leads.container.id, each.service)):
        end = time.monotonic() + HEALTHY_WITHIN
        compose.run("up", "--detach", "--no-build", "--no-deps", each.service)
        late = Refusal(f"{each.service} is not back", "make logs", code=TIMED_OUT)
        until(lambda name=each.service: is_back(name), end, lambda late=late: late)  # type: ignore[misc]
        say(f"{each.service} is back, as one of {variable('LOCKD_IMAGE') or IMAGE}")


def is_back(service: str) -> bool:
    """Is a replica healthy, and does it say whether it leads?"""
    found = [each for each in replicas() if each.service == service and each.status in WELL]
    return bool(found) and ask(found[0]).leads is not None


def replace(name: str) -> None:
    """Have a new, empty etcd member take the place of one that lost its data; its container is made anew."""
    compose = Compose()
    there = {each.service: each for each in containers(PROJECT) if each.labels.get("lockd.role") == "etcd"}
    others = [each for service, each in there.items() if service != name and each.status in WELL]
    if not others:
        raise Refusal(f"no other etcd member is healthy to take {name} back", "make logs")
    listed = json.loads(docker("exec", others[0].id, "etcdctl", "member", "list", "-w", "json"))["members"]
    old = next((each for each in listed if each.get("name") == name), None)
    if old is None:
        known = ", ".join(sorted(each.get("name", "") for each in listed))
        raise Refusal(f"no etcd member is called {name}", f"name one of {known}", code=USAGE)
    if name in there:
        docker("rm", "--force", "--volumes", there[name].id)
    docker("exec", others[0].id, "etcdctl", "member", "remove", f"{old['ID']:x}")
    say(f"{name} is no member any more; a new one takes its place")
    end = time.monotonic() + HEALTHY_WITHIN
    until(lambda: added(others[0], name, old["peerURLs"][0]), end, lambda: Refusal(f"{name} is not taken", "make logs"))
    compose.run("up", "--detach", "--no-build", "--no-deps", name, ETCD_INITIAL_CLUSTER_STATE="existing")
    late = Refusal(f"{name} is not healthy", "make logs", code=TIMED_OUT)
    until(
        lambda: [each for each in containers(PROJECT) if each.service == name and each.status in WELL],
        end,
        lambda: late,
    )
    say(f"{name} is a member again, and has what the others have")


def added(through: Container, name: str, url: str) -> bool:
    """Have a member taken; for a moment after another has gone etcd refuses that."""
    try:
        docker("exec", through.id, "etcdctl", "member", "add", name, f"--peer-urls={url}")
    except Refusal:
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(prog="operations", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("upgrade", help=upgrade.__doc__)
    replacing = commands.add_parser("replace", help=replace.__doc__)
    replacing.add_argument("member", help="such as etcd-2")
    asked = parser.parse_args()
    with told("compose"):
        if asked.command == "upgrade":
            upgrade()
        else:
            replace(asked.member)


if __name__ == "__main__":
    main()
