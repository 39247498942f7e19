"""Handing the lease over: a wish in etcd that the leader of one term, and no other, follows."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lockd.errors import LockdError
from lockd.etcd.retry import settle
from lockd.ports import Compare, Field, Get, Put, Txn
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

    def encode(self) -> bytes:
        return json.dumps({"candidate": self.candidate, "token": self.token}, separators=(",", ":")).encode()


def _named(candidate: str, leader: Member, standbys: list[Member]) -> str:
    if candidate == leader.identity:
        raise SwitchoverRefused(f"{candidate} leads already")
    names = [each.identity for each in standbys]
    found = [name for name in names if name == candidate] or [name for name in names if name.startswith(candidate)]
    if len(found) == 1:
        return found[0]
    problem = f'"{candidate}" is the beginning of several names' if found else f'"{candidate}" doesn\'t stand by'
    raise SwitchoverRefused(f"{problem}: those that do are {', '.join(names)}")


def ask(gateway: Gateway, lock: LockName, wish: Wish, *, timeout: float, clock: Clock) -> None:
    """Write a wish, if its term is still in force.

    Raises:
        SwitchoverRefused: The term has ended, or somebody else wrote a wish just now.
        StoreError: etcd didn't answer, or refused.
    """
    (before,) = gateway.range(lock.switchover, timeout=timeout).kvs or (None,)
    value = wish.encode()
    if before is not None and before.value == value:
        return
    seen = before.mod_revision if before is not None else 0
    txn = Txn(
        (Compare(lock.term, Field.MOD, wish.token), Compare(lock.switchover, Field.MOD, seen)),
        (Put(lock.switchover, value),),
        (Get(lock.switchover),),
    )
    reply = settle(gateway, txn, clock=clock, stop=threading.Event(), attempt=timeout / 4, within=timeout)
    if reply.succeeded:
        return
    (found,) = gateway.range(lock.switchover, timeout=timeout).kvs or (None,)
    # An earlier copy of this very write may have been applied.
    if found is None or found.value != value:
        raise SwitchoverRefused(
            f"{wish.leader}'s term ended, or somebody else asked for a switchover: look, then try again"
        )


def await_successor(
    gateway: Gateway, lock: LockName, wish: Wish, *, within: float, timeout: float, clock: Clock
) -> Member | None:
    """The leader of the next term, once there is one; None if there is none within so many seconds.

    Raises:
        StoreError: etcd didn't answer, or refused.
    """
    end = clock.now() + within
    while True:
        members = read_members(gateway, lock, timeout=timeout)
        leader = next((each for each in members.members if each.role == LEADER), None)
        if leader is not None and leader.token is not None and leader.token > wish.token:
            return leader
        if clock.now() >= end:
            return None
        clock.wait(threading.Event(), STEP)
