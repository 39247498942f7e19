"""Targets by role: what is written in a scenario or on a command line, and who that is at the moment of the fault."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chaos.faults.errors import NoTarget
from chaos.faults.fault import Kind
from chaos.faults.parameters import like
from chaos.faults.processes import process

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from chaos.cluster.interface import Cluster, Target

WORDS: Final = {
    "leader": Kind.REPLICA,
    "old-leader": Kind.REPLICA,
    "standby": Kind.REPLICA,
    "random": Kind.REPLICA,
    "all": Kind.REPLICA,
    "etcd-leader": Kind.ETCD,
    "etcd-follower": Kind.ETCD,
    "etcd": Kind.ETCD,
    "lockd": Kind.DAEMON,
}
"""Roles, and the kind of whoever has them. `random` is one of the replicas; `all`, `etcd` and `lockd` are all of one
kind. `standby[1]`, `etcd-follower[0]` are one of several, by name; without a number the first."""

_INDEXED: Final = ("standby", "etcd-follower", "lockd")
_NAME: Final = re.compile(r"(replica|etcd|lockd)-\d+")
_ROLE: Final = re.compile(r"([a-z-]+)(?:\[(\d+)\])?")


@dataclass(frozen=True, slots=True)
class Role:
    """A role as it was written.

    Attributes:
        word: One of WORDS, or a name such as `replica-2`.
        index: Of one among several.
    """

    word: str
    kind: Kind
    index: int | None = None

    @classmethod
    def parse(cls, text: str) -> Role:
        """A role from its text.

        Raises:
            ValueError: One clear line.
        """
        if named := _NAME.fullmatch(text):
            return cls(text, Kind(named[1]))
        written = _ROLE.fullmatch(text)
        if written is None or written[1] not in WORDS:
            remedy = like(text, tuple(WORDS)) or f": write one of {', '.join(WORDS)}, or a name such as replica-2"
            raise ValueError(f"{text!r} is no role{remedy}")
        if written[2] is not None and written[1] not in _INDEXED:
            raise ValueError(f"{text!r}: only {', '.join(_INDEXED)} take a number")
        return cls(written[1], WORDS[written[1]], None if written[2] is None else int(written[2]))

    def __str__(self) -> str:
        return self.word if self.index is None else f"{self.word}[{self.index}]"


def resolve(role: Role, cluster: Cluster, *, random: random.Random, old: str = "") -> tuple[Target, ...]:
    """Who has a role now; nobody who has ended.

    Args:
        old: The identity of the leader before this one, for `old-leader`.

    Raises:
        NoTarget: Nobody has.
        StoreError: etcd can't be asked who leads.
    """
    everybody = {
        Kind.REPLICA: cluster.replicas,
        Kind.ETCD: cluster.etcd_members,
        Kind.DAEMON: cluster.daemons,
    }[role.kind]()
    living = [target for target in everybody if process(target).alive]
    found = _having(role, living, cluster, random, old)
    if not found:
        names = ", ".join(target.name for target in living) or "nobody"
        raise NoTarget(f"nobody is {role} now: running are {names}")
    return tuple(found)


def _having(
    role: Role, living: Sequence[Target], cluster: Cluster, random: random.Random, old: str
) -> Sequence[Target]:
    match role.word:
        case "leader" | "standby":
            leader = cluster.leader()
            leads = leader.identity if leader is not None else ""
            return _split(role, living, leads, leader=role.word == "leader")
        case "etcd-leader" | "etcd-follower":
            leader = cluster.etcd_leader()
            leads = leader.identity if leader is not None else ""
            return _split(role, living, leads, leader=role.word == "etcd-leader")
        case "old-leader":
            return [target for target in living if target.identity == old]
        case "random":
            return [random.choice(living)] if living else []
        case "all" | "etcd" | "lockd":
            return living if role.index is None else living[role.index : role.index + 1]
        case name:
            return [target for target in living if target.name == name]


def _split(role: Role, living: Sequence[Target], leads: str, *, leader: bool) -> Sequence[Target]:
    if leader:
        return [target for target in living if target.identity == leads]
    others = [target for target in living if target.identity != leads]
    index = role.index or 0
    return others[index : index + 1]
