"""Who is who in a compose project: by labels, under names that roles of faults know. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

from chaos.compose.container import ROLE, Container
from chaos.errors import NoCluster

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

REPLICA: Final = "replica"
ETCD: Final = "etcd"
DAEMON: Final = "lockd"
ROLES: Final = (REPLICA, ETCD, DAEMON)

USUAL: Final[dict[str, int]] = {REPLICA: 10259, ETCD: 2379, DAEMON: 7600}
"""The port at which each is asked."""


@dataclass(frozen=True, slots=True)
class Roster:
    """The containers of a project that have a role, by the names that they go by here."""

    replicas: Mapping[str, Container]
    members: Mapping[str, Container]
    daemons: Mapping[str, Container]

    @classmethod
    def of(cls, containers: Iterable[Container]) -> Self:
        """Name them: a service `replica-2` stays what it is; others get numbers in the order of their services."""
        by_role: dict[str, list[Container]] = {role: [] for role in ROLES}
        for each in containers:
            if each.role in by_role and not each.is_one_off:
                by_role[each.role].append(each)
        return cls(*(_named(role, found) for role, found in by_role.items()))

    def named(self, role: str) -> Mapping[str, Container]:
        """Those of one role."""
        return {REPLICA: self.replicas, ETCD: self.members, DAEMON: self.daemons}[role]

    @property
    def everybody(self) -> dict[str, Container]:
        return {**self.replicas, **self.members, **self.daemons}


def _named(role: str, containers: list[Container]) -> dict[str, Container]:
    containers = _newest(containers)
    inorder = sorted(containers, key=lambda each: (natural(each.service or each.name), each.number))
    own = [each.service for each in inorder]
    fits = len(set(own)) == len(own) and all(re.fullmatch(rf"{role}-[1-9][0-9]{{0,2}}", name) for name in own)
    names = own if fits else [f"{role}-{number}" for number in range(1, len(own) + 1)]
    return dict(zip(names, inorder, strict=True))


def is_named(name: str) -> bool:
    """May a container of a roster go by that name? Whoever may not is none."""
    role, _, number = name.rpartition("-")
    return role in ROLES and number.isdecimal()


def _newest(containers: Iterable[Container]) -> list[Container]:
    """One for each place: while compose makes a container anew, the one before is there for a moment still."""
    found: dict[tuple[str, int], Container] = {}
    for each in sorted(containers, key=lambda each: (each.running, each.started)):
        found[each.service or each.id, each.number] = each
    return list(found.values())


def natural(text: str) -> tuple[tuple[int, str], ...]:
    """`node10` comes after `node9`."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", text))


def chosen(containers: Iterable[Container], project: str) -> Roster:
    """The roster of a project that faults can be aimed at.

    Raises:
        NoCluster: It has no containers, or none with a role; one line with the remedy.
    """
    found = [each for each in containers if each.project == project]
    if not found:
        raise NoCluster(
            f"no container belongs to a compose project {project!r}: bring it up, or take a name that "
            "`docker compose ls` tells"
        )
    roster = Roster.of(found)
    if not roster.replicas:
        there = ", ".join(sorted({each.service for each in found if each.service})) or "none"
        raise NoCluster(
            f"no container of the project {project!r} is labelled as a replica: give its services labels such as "
            f"{ROLE}=replica and {ROLE}=etcd (services here: {there})"
        )
    return roster
