"""Handing the lease over: a wish in etcd that the leader of one term, and no other, follows."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lockd.errors import LockdError
from lockd.switchover import wish
from replica.ctl.members import LEADER, read_members

if TYPE_CHECKING:
    from component.clock import Clock
    from lockd.etcd.gateway import Gateway
    from lockd.ports import LockName
    from replica.ctl.members import Member, Members

STEP: Final = 0.1
"""Seconds between two looks at who leads."""


_LEAVING: Final = frozenset({"deposed", "gone", "unreadable"})
"""States of replicas that won't take over."""


class SwitchoverRefused(LockdError):
    """There is nobody to hand over from, or to."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A switchover to ask for.

    Attributes:
        leader: Who leads, by `token`.
        candidate: Who is to lead; "" for anyone that stands by.
    """

    leader: str
    token: int
    candidate: str

    @classmethod
    def of(cls, members: Members, candidate: str = "") -> Wish:
        """The wish for a lock as it stands.

        Args:
            candidate: An identity, or the beginning of one that is nobody else's.

        Raises:
            SwitchoverRefused: Nobody leads, or the candidate doesn't stand by.
        """
        leader = next((each for each in members.members if each.role == LEADER), None)
        lock = f"{members.lock.namespace}/{members.lock.name}"
        if leader is None or leader.token is None:
            raise SwitchoverRefused(f"nobody leads {lock}: there is nothing to hand over (see replicactl list)")
        standbys = [each for each in members.members if each.role != LEADER and each.state not in _LEAVING]
        if not standbys:
            raise SwitchoverRefused(f"no replica stands by to take {lock} over from {leader.identity}: start one first")
        return cls(leader.identity, leader.token, _named(candidate, leader, standbys) if candidate else "")


def _named(candidate: str, leader: Member, standbys: list[Member]) -> str:
    if candidate == leader.identity:
        raise SwitchoverRefused(f"{candidate} leads already")
    names = [each.identity for each in standbys]
    found = [name for name in names if name == candidate] or [name for name in names if name.startswith(candidate)]
    if len(found) == 1:
        return found[0]
    problem = f'"{candidate}" is the beginning of several names' if found else f'"{candidate}" doesn\'t stand by'
    raise SwitchoverRefused(f"{problem}: those that do are {', '.join(names)}")


def ask(gateway: Gateway, lock: LockName, wanted: Wish, *, timeout: float, clock: Clock) -> None:
    """Write a wish, if its term is still in force.

    Raises:
        SwitchoverRefused: The term has ended.
        StoreError: etcd didn't answer, or refused.
    """
    term = wish(
        gateway,
        lock,
        candidate=wanted.candidate,
        token=wanted.token,
        clock=clock,
        stop=threading.Event(),
        within=timeout,
    )
    if term is None:
        raise SwitchoverRefused(f"{wanted.leader}'s term has ended meanwhile: look, then try again")


def await_successor(
    gateway: Gateway, lock: LockName, wanted: Wish, *, within: float, timeout: float, clock: Clock
) -> Member | None:
    """The leader of the next term, once there is one; None if there is none within so many seconds.

    Raises:
        StoreError: etcd didn't answer, or refused.
    """
    end = clock.now() + within
    while True:
        members = read_members(gateway, lock, timeout=timeout)
        leader = next((each for each in members.members if each.role == LEADER), None)
        if leader is not None and leader.token is not None and leader.token > wanted.token:
            return leader
        if clock.now() >= end:
            return None
        clock.wait(threading.Event(), STEP)
