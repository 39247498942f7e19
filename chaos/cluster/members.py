"""The etcd members of a supervised cluster: shown, their ends told, started again only if somebody asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.cluster.keeper import ENDING
from chaos.cluster.state import MemberState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from component.process import Process
    from lockd.etcd.member import Member


class Members:
    """Owned by one thread."""

    def __init__(self, members: Sequence[Member], *, tell: Callable[[str], None]) -> None:
        self._members = tuple(members)
        self._tell = tell
        self._shown: dict[str, MemberState] = {}
        self._ended: set[int] = set()

    def step(self) -> None:
        """Tell who has ended since."""
        for member in self._members:
            if member.alive or member.pid in self._ended:
                continue
            self._ended.add(member.pid)
            code = member.child.exit_code or 0
            how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
            self._tell(f"{member.name} {how}; it is not started again; its log is {member.log}")

    def again(self, name: str) -> Process | None:
        """Start a member on its data and port that has ended; None: there is no such member.

        Returns:
            Its process, the present one if it runs.

        Raises:
            OSError: It can't be started.
        """
        member = next((member for member in self._members if member.name == name), None)
        if member is None:
            return None
        if member.child.is_over(ENDING):
            member.start()
            self._tell(f"{member.name} started again (pid {member.pid})")
        return member.child.process

    def state(self) -> tuple[MemberState, ...]:
        """As cluster.json tells it. One that has ended is shown as it was."""
        for member in self._members:
            old = self._shown.get(member.name)
            if old is None or old.pid != member.pid:
                self._shown[member.name] = MemberState(
                    name=member.name,
                    endpoint=member.endpoint,
                    pid=member.pid,
                    started=member.started,
                    data_dir=str(member.data_dir),
                )
        return tuple(self._shown[member.name] for member in self._members)
