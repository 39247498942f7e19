"""Whom a fault is aimed at: a role, which a process has only at the moment when the fault is fired."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import Final, Self

PATTERN: Final = (
    r"^(leader|old-leader|standbys|random|all|etcd|etcd-leader|etcd-followers|etcd-majority|lock-holder|lock-waiter"
    r"|(standby|etcd-follower|lockd)(\[[0-9]{1,3}\])?"
    r"|(replica|etcd|lockd)-[1-9][0-9]{0,2})$"
)
"""What a role looks like, for a JSON Schema too."""

ROLES: Final = {
    "leader": "the replica that holds the lease",
    "old-leader": "the replica that held it before the one that does, if its process is still there",
    "standby": "a replica that doesn't hold it, drawn from the seed; standby[0] is the first by name",
    "standbys": "all replicas that don't hold it",
    "random": "a replica, drawn from the seed",
    "all": "all replicas",
    "replica-1": "the replica of that name",
    "etcd-leader": "the etcd member that leads",
    "etcd-follower": "a member that follows, drawn from the seed; etcd-follower[0] is the first by name",
    "etcd-followers": "all members that follow",
    "etcd-majority": "as many members as a quorum has, drawn from the seed",
    "etcd": "all members",
    "etcd-1": "the member of that name",
    "lockd": "a `lockd serve`, drawn from the seed; lockd[0] is the first by name, lockd-1 the one of that name",
    "lock-holder": "the `lockctl elect` of the workload lock-only that holds its lock",
    "lock-waiter": "one that waits for it, drawn from the seed",
}
"""Every role and what it means."""

_ROLE: Final = re.compile(PATTERN, re.ASCII)
_PARTS: Final = re.compile(r"(?P<kind>[a-z-]+?)(?:\[(?P<place>\d+)\]|-(?P<number>\d+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Role:
    """One role.

    Attributes:
        kind: Its word, such as `standby`; `replica`, `etcd` or `lockd` for a name.
        place: In the order of the names, from 0; None: all of that kind, or one that is drawn.
        name: Of one process, or "".
    """

    kind: str
    place: int | None = None
    name: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """The role that a text names.

        Raises:
            ValueError: One line that names the text and the remedy.
        """
        parts = _PARTS.fullmatch(text)
        if _ROLE.match(text) is None or parts is None:
            close = difflib.get_close_matches(text, ROLES, n=1)
            hint = f"did you mean {close[0]}?" if close else f"roles are {', '.join(ROLES)}"
            raise ValueError(f"{text[:60]!r} is no role: {hint}")
        name = text if parts["number"] is not None else ""
        return cls(parts["kind"], int(parts["place"]) if parts["place"] is not None else None, name)

    @property
    def of_etcd(self) -> bool:
        """Is it an etcd member's?"""
        return self.kind.startswith("etcd")

    def __str__(self) -> str:
        return self.name or (self.kind if self.place is None else f"{self.kind}[{self.place}]")


def problem(text: str) -> str | None:
    """What is wrong with a role, in one line; None: nothing."""
    try:
        Role.parse(text)
    except ValueError as error:
        return str(error)
    return None
