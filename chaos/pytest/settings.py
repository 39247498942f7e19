"""What tests want of their clusters. Pure: from options and marks to a shape, every mistake at once."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Final

from chaos.cluster.plan import FAST, Plan
from chaos.cluster.service import problems as service_problems
from chaos.faults.fault import Need
from chaos.faults.parameters import like
from chaos.timing import Timing
from lockd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MOST: Final = 9
"""Replicas that one machine is asked for at most."""

NEEDS: Final = {"links": Need.LINKS, "clocks": Need.CLOCKS, "collector": Need.COLLECTOR, "networks": Need.NETWORKS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What one cluster is to be. Tests that want the same shape share a cluster.

    Attributes:
        members: etcd members, 1 or 3.
        links: Has it links that can be cut? Some faults need them, and so with the next two: see docs/chaos.md.
        clocks: Can the wall clocks of its replicas be shifted?
        collector: Can a telemetry collector be made to hang?
        networks: Has it networks that a process can be taken off?
        defaults: Leases of 15 s, as in production, in place of 3 s.
        flags: Further flags of `replica run`.
        service: Words that start a program of the user's own in place of `replica run`; empty: replicas.
        lock: `<namespace>/<name>` of the lock that they contend for.
        prefix: Of the lock's keys.

    Raises:
        ConfigError: With every problem.
    """

    members: int = 3
    replicas: int = 3
    links: bool = False
    clocks: bool = False
    collector: bool = False
    networks: bool = False
    defaults: bool = False
    flags: tuple[str, ...] = ()
    service: tuple[str, ...] = ()
    lock: str = "kube-system/kube-scheduler"
    prefix: str = "/lockd"

    def __post_init__(self) -> None:
        namespace, _, name = self.lock.partition("/")
        prefix = self.prefix.startswith("/") and not self.prefix.endswith("/")
        rules = (
            (self.members in (1, 3), f"members: {self.members}: etcd has 1 member or 3"),
            (1 <= self.replicas <= MOST, f"replicas: {self.replicas}: from 1 to {MOST} are possible"),
            (bool(namespace and name) and "/" not in name, f"lock: {self.lock!r}: write <namespace>/<name>"),
            (prefix, f"prefix: {self.prefix!r}: begins with a slash and ends without one"),
            (not (self.service and self.flags), "flags: are for replicas: a service has words of its own"),
        )
        problems = [text for holds, text in rules if not holds]
        problems += [f"service: {problem}" for problem in service_problems(self.service)]
        try:
            _ = self.timing.config
        except (ConfigError, ValueError) as error:
            problems.append(f"flags: {error}")
        if problems:
            raise ConfigError(tuple(problems))

    @property
    def timing(self) -> Timing:
        """Of its elections."""
        return Timing.of_flags((*(() if self.defaults else FAST), *self.flags))

    def changed(self, given: Mapping[str, Any]) -> Shape:
        """The same, but for what a mark says.

        Raises:
            ConfigError: With every problem.
        """
        known = {field.name: type(getattr(self, field.name)) for field in fields(self)}
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in given.items()
        }
        problems = [f"no cluster has {name!r}{like(name, tuple(known))}" for name in values if name not in known]
        problems += [
            f"{name}: {value!r} is no {_WORDS[known[name]]}"
            for name, value in values.items()
            if name in known and type(value) is not known[name]
        ]
        if problems:
            raise ConfigError(tuple(problems))
        return replace(self, **values)

    def plan(self, folder: Path) -> Plan:
        """Of a local cluster of this shape, but for what its faults need."""
        timing = self.timing
        return Plan(
            folder=folder,
            prefix=self.prefix,
            members=self.members,
            replicas=self.replicas,
            flags=(*(() if self.defaults else FAST), *self.flags),
            service=self.service,
            lock=self.lock,
            timing=(timing.lease_duration, timing.renew_deadline, timing.retry_period),
        )

    @property
    def needs(self) -> frozenset[Need]:
        """What it must be made with."""
        return frozenset(need for name, need in NEEDS.items() if getattr(self, name))

    def __str__(self) -> str:
        extras = "".join(f", {name}" for name in (*NEEDS, "defaults") if getattr(self, name))
        return f"{counted(self.replicas, self.members, 'services' if self.service else 'replicas')}{extras}"


def counted(replicas: int, members: int, kind: str = "replicas") -> str:
    """How large a cluster is, in words."""
    return f"{replicas} {kind} on {members} etcd member{'s' * (members != 1)}"


_WORDS: Final[Mapping[type, str]] = {
    int: "whole number",
    bool: "True or False",
    tuple: "list of words",
    str: "text",
}
