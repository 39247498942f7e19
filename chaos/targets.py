"""The processes that have a role at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockd.errors import LockdError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.cluster.interface import Target
    from chaos.roles import Role


class NoTarget(LockdError):
    """Nobody has the role at this moment; the message says which one, and who is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who is who at one moment; each in the order of the names.

    Attributes:
        leader: None: nobody leads, or a stranger.
        old_leader: The identity of the leader before; "" when there was none.
        holders: Those of `contenders` that hold the lock of the workload: one at most, if all is well.
        contenders: The `lockctl elect` of the workload.
    """

    replicas: Sequence[Target] = ()
    leader: Target | None = None
    old_leader: str = ""
    members: Sequence[Target] = ()
    etcd_leader: Target | None = None
    daemons: Sequence[Target] = ()
    contenders: Sequence[Target] = ()
    holders: Sequence[Target] = ()


def resolve(role: Role, cast: Cast, draw: float) -> tuple[Target, ...]:
    """Those who have `role`.

    Args:
        draw: In [0, 1), made before anything runs: which one it is where a role leaves that open.

    Raises:
        NoTarget: Nobody has it.
    """
    found = _named(role, cast) if role.name else _by_kind(role, cast, draw)
    if not found:
        raise NoTarget(f"nobody is {role} at this moment: {_told(cast)}")
    return tuple(found)


def _named(role: Role, cast: Cast) -> list[Target]:
    return [target for target in (*cast.replicas, *cast.members, *cast.daemons) if target.name == role.name]


def _by_kind(role: Role, cast: Cast, draw: float) -> Sequence[Target]:
    if role.of_etcd:
        return _members(role, cast, draw)
    match role.kind:
        case "all":
            return cast.replicas
        case "random":
            return _one(cast.replicas, role, draw)
        case "lockd":
            return _one(cast.daemons, role, draw)
        case "lock-holder":
            return cast.holders
        case "lock-waiter":
            return _one([each for each in cast.contenders if each not in cast.holders], role, draw)
        case "old-leader":
            return [each for each in cast.replicas if cast.old_leader and each.identity == cast.old_leader]
    if cast.leader is None:
        return ()
    standbys = [each for each in cast.replicas if each != cast.leader]
    return {"leader": [cast.leader], "standbys": standbys}.get(role.kind) or _one(standbys, role, draw)


def _members(role: Role, cast: Cast, draw: float) -> Sequence[Target]:
    if role.kind == "etcd":
        return cast.members
    if role.kind == "etcd-majority":
        return _majority(cast.members, draw)
    if cast.etcd_leader is None:
        return ()
    followers = [each for each in cast.members if each != cast.etcd_leader]
    return {"etcd-leader": [cast.etcd_leader], "etcd-followers": followers}.get(role.kind) or _one(
        followers, role, draw
    )


def _one(among: Sequence[Target], role: Role, draw: float) -> Sequence[Target]:
    """The one of a place, or the one that is drawn."""
    place = int(draw * len(among)) if role.place is None else role.place
    return among[place : place + 1]


def _majority(members: Sequence[Target], draw: float) -> Sequence[Target]:
    """A quorum of them, beginning with the one that is drawn."""
    first = int(draw * len(members))
    turned = [*members[first:], *members[:first]]
    return sorted(turned[: len(members) // 2 + 1], key=lambda member: member.name)


def _told(cast: Cast) -> str:
    here = [each.name for each in (*cast.replicas, *cast.members, *cast.daemons, *cast.contenders)]
    leads = cast.leader.name if cast.leader is not None else "nobody"
    return f"{leads} leads, of {', '.join(here) or 'none at all'}"
