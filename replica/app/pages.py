"""What a replica tells over HTTP beside its health: who leads, with which configuration it runs, how it is."""

from __future__ import annotations

import json
import platform
import re
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from component import strict
from component.durations import format_duration
from component.handlers import Response, text
from lockd.record import display_time

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock
    from component.handlers import Handler, Request
    from replica.app.config import ReplicaConfig
    from replica.app.contender import Contender
    from replica.cache.informers import Informers

JSON_TYPE = "application/json"

REDACTED = "<redacted>"

_SECRET = re.compile(r"password|passwd|secret|token$|credential|(?:api|private|access)[-_]?key|keydata", re.IGNORECASE)


def as_json(document: Any, *, status: int = 200) -> Response:
    body = json.dumps(document, indent=2, default=str).encode() + b"\n"
    return Response(status=status, body=body, content_type=JSON_TYPE)


def leader_page(config: ReplicaConfig, elector: Contender, clock: Clock) -> Handler:
    """200 on the leader, 503 elsewhere, as load balancers ask it; the body says who leads."""

    def page(_: Request) -> Response:
        leadership = elector.leadership
        leads = leadership is not None and leadership.holds(clock.now())
        document = {
            "identity": config.election.identity,
            "leader": elector.leader,
            "leads": leads,
            "fencingToken": int(leadership.token) if leadership is not None and leads else None,
        }
        return as_json(document, status=200 if leads else 503)

    return page


def configz_page(config: ReplicaConfig) -> Handler:
    """The configuration in force, every default said, secrets left out."""
    election = config.election
    connection = asdict(config.connection)
    connection["password"] = REDACTED if config.connection.password else None
    document = {
        "componentconfig": redacted(strict.encode(config.scheduler)),
        "lockd": {
            "prefix": config.prefix,
            "etcd": connection,
            "serving": asdict(config.serving),
            "presence": asdict(config.presence) if config.presence is not None else None,
            "workTimeout": format_duration(election.work_timeout),
            "drainTimeout": format_duration(election.drain_timeout),
            "exitBound": format_duration(election.exit_seconds),
            "podMaxInUnschedulablePodsDuration": format_duration(config.unschedulable_seconds),
        },
    }
    return lambda _: as_json(document)


def redacted(document: Any) -> Any:
    """A document without what its fields' names say to be secret, as arguments of somebody's plugin may be."""
    if isinstance(document, dict):
        return {
            name: REDACTED if isinstance(value, str) and value and _SECRET.search(name) else redacted(value)
            for name, value in document.items()
        }
    return [redacted(each) for each in document] if isinstance(document, list) else document


def flagz_page(config: ReplicaConfig) -> Handler:
    """The flags in force, a line each, for people: secrets are left out."""
    lines = [f"--{name}={value}\n" for name, value in sorted(config.flags.items())]
    body = "".join(["replica: the flags in force\n\n", *lines])
    return lambda _: text(body)


def statusz_page(
    config: ReplicaConfig,
    elector: Contender,
    informers: Informers,
    pending: Callable[[], dict[str, int]],
    clock: Clock,
) -> Handler:
    """How it is, for people and scripts."""
    started, since = clock.now(), display_time(clock.wall())

    def page(_: Request) -> Response:
        leadership = elector.leadership
        leads = leadership is not None and leadership.holds(clock.now())
        return as_json(
            {
                "identity": config.election.identity,
                "lock": f"{config.election.namespace}/{config.election.name}",
                "leader": elector.leader,
                "role": "leader" if leads else "standby",
                "version": version("lockd"),
                "pythonVersion": platform.python_version(),
                "startTime": since,
                "uptimeSeconds": round(clock.now() - started, 3),
                "caches": {"appliedRevision": informers.barrier.applied, "problem": informers.problem()},
                "pendingPods": pending(),
                "watchesOver": elector.watches,
            }
        )

    return page
