"""What those who look after etcd do: alarms, its raft leader, the room in its files, its members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lockd.etcd.calls import Request
from lockd.etcd.channel import ALARM, DEFRAGMENT, MEMBER_LIST, MOVE_LEADER

if TYPE_CHECKING:
    from lockd.etcd.channel import Method
    from lockd.etcd.gateway import Gateway

_GET, _ACTIVATE, _DEACTIVATE = 0, 1, 2  # etcd's AlarmAction
_ALARMS: Final = ("NONE", "NOSPACE", "CORRUPT")


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm that a member has raised: `NOSPACE` or `CORRUPT`."""

    member_id: int
    kind: str


@dataclass(frozen=True, slots=True)
class Member:
    """A member as the cluster lists it."""

    member_id: int
    name: str
    client_urls: tuple[str, ...]
    is_learner: bool


class Maintenance:
    """Calls for people and chaos tests; none is tried again. Raises as `Gateway` does."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    def alarms(self, *, timeout: float) -> tuple[Alarm, ...]:
        """The alarms in force."""
        response = self._call(ALARM, ALARM.request(action=_GET), timeout)
        return tuple(Alarm(found.memberID, _ALARMS[found.alarm]) for found in response.alarms)

    def raise_alarm(self, alarm: Alarm, *, timeout: float) -> None:
        """Put the cluster into an alarm's state, as a member that is out of space does."""
        self._call(ALARM, _alarm(_ACTIVATE, alarm), timeout, write=True)

    def disarm(self, alarm: Alarm, *, timeout: float) -> None:
        """End an alarm. It must name the member that raised it: etcd accepts any other and does nothing."""
        self._call(ALARM, _alarm(_DEACTIVATE, alarm), timeout, write=True)

    def members(self, *, timeout: float) -> tuple[Member, ...]:
        """The cluster's members, as a member lists them."""
        response = self._call(MEMBER_LIST, MEMBER_LIST.request(), timeout)
        return tuple(Member(m.ID, m.name, tuple(m.clientURLs), m.isLearner) for m in response.members)

    def move_leader(self, endpoint: str, member_id: int, *, timeout: float) -> None:
        """Have the raft leader, which `endpoint` must be, hand over to another member."""
        self._call(MOVE_LEADER, MOVE_LEADER.request(targetID=member_id), timeout, endpoint=endpoint, write=True)

    def defragment(self, endpoint: str, *, timeout: float) -> None:
        """Give the free room in a member's file back; the member answers nothing meanwhile."""
        self._call(DEFRAGMENT, DEFRAGMENT.request(), timeout, endpoint=endpoint, write=True)

    def _call(self, method: Method, message: Any, timeout: float, *, endpoint: str = "", write: bool = False) -> Any:
        request = Request(
            method=method, message=message, write=write, linearizable=False, timeout=timeout, endpoint=endpoint
        )
        return self._gateway.caller.call(request)


def _alarm(action: int, alarm: Alarm) -> Any:
    return ALARM.request(action=action, memberID=alarm.member_id, alarm=_ALARMS.index(alarm.kind))
