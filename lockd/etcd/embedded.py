"""A real etcd of our own: one member or three on free loopback ports, which end when we do."""

from __future__ import annotations

import shutil
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from component.clock import SystemClock
from lockd.errors import LockdError, Rejected, StoreError
from lockd.etcd.binary import find_etcd
from lockd.etcd.connection import Connection
from lockd.etcd.gateway import Gateway
from lockd.etcd.maintenance import Maintenance
from lockd.etcd.member import Member
from lockd.etcd.plan import Plan
from lockd.etcd.witness import Witness

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from component.clock import Clock
    from lockd.etcd.binary import Etcd
    from lockd.etcd.model import MemberStatus

QUOTA: Final = 8 * 1024**3
"""Bytes of a member's database: what we ask for instead of etcd's 2 GiB."""

_SHORT: Final = 1.0
_POLL: Final = 0.02
_CLOCK: Final = SystemClock()


class EmbeddedError(LockdError):
    """An etcd of our own did not start; the message has its last words."""


class Embedded:
    """An etcd cluster of our own; a context manager that ends it.

    Attributes:
        members: Its members; they may be killed, paused and started again one by one.
        connection: How to reach it.
        directory: Its data and logs.
    """

    def __init__(
        self,
        etcd: Etcd,
        directory: Path,
        members: Sequence[Member],
        connection: Connection,
        *,
        keep: bool,
        clock: Clock,
    ) -> None:
        self.etcd = etcd
        self.directory = directory
        self.members = tuple(members)
        self.connection = connection
        self._keep = keep
        self._clock = clock
        self._gateway = Gateway(connection, purpose="embedded", witness=Witness(), clock=clock)
        self.maintenance = Maintenance(self._gateway)

    @classmethod
    def start(
        cls,
        *,
        members: int = 1,
        directory: Path | None = None,
        etcd: Etcd | None = None,
        auto_compaction: bool = True,
        flags: Sequence[str] = (),
        scheme: str = "http",
        client: Mapping[str, Any] | None = None,
        within: float = 30.0,
        clock: Clock = _CLOCK,
    ) -> Self:
        """Start a cluster and wait until it answers.

        Args:
            members: 1 or 3.
            directory: For data and logs, and kept; one that has served before is served again, on the same ports. By
                default a temporary one, removed at the end.
            etcd: The program; by default what `find_etcd` finds.
            auto_compaction: Keep an hour of history; else all of it.
            flags: Further flags of etcd, for each member.
            scheme: `https` where `flags` have it serve TLS.
            client: Fields of the connection, such as `cacert`.
            within: Seconds until it must answer.

        Raises:
            ConfigError: No etcd is to be found, or the directory can't be used.
            EmbeddedError: It did not start; has a member's last words.
        """
        etcd = etcd or find_etcd()
        folder = directory or Path(tempfile.mkdtemp(prefix="lockd-etcd-"))
        options = [f"--quota-backend-bytes={QUOTA}", *flags]
        if auto_compaction:
            options += ["--auto-compaction-mode=periodic", "--auto-compaction-retention=1h"]
        try:
            plan = Plan.of(folder, members)
            made = [
                Member(
                    name,
                    f"127.0.0.1:{plan.ports[name][0]}",
                    [str(etcd.path), *plan.flags(name, scheme), *options],
                    folder,
                    clock,
                )
                for name in plan.ports
            ]
            connection = Connection(
                endpoints=tuple(f"{scheme}://{member.endpoint}" for member in made), **(client or {})
            )
            cluster = cls(etcd, folder, made, connection, keep=directory is not None, clock=clock)
        except BaseException:
            if directory is None:
                shutil.rmtree(folder, ignore_errors=True)
            raise
        try:
            for member in made:
                member.start()
            cluster.wait_ready(within)
        except BaseException:
            cluster.stop()
            raise
        return cluster

    @property
    def endpoints(self) -> tuple[str, ...]:
        return self.connection.endpoints

    def leader(self, *, within: float = 5.0) -> Member:
        """The member that leads.

        Raises:
            EmbeddedError: None does for so many seconds.
        """
        end = self._clock.now() + within
        while True:
            for member in self.members:
                status, _ = self._ask(member)
                if status is not None and status.leader == status.member_id:
                    return member
            if self._clock.now() >= end:
                raise EmbeddedError(f"no member of etcd at {', '.join(self.endpoints)} leads")
            self._clock.wait(threading.Event(), _POLL)

    def move_leader(self, to: Member, *, timeout: float = 5.0) -> None:
        """Have another member lead."""
        leader, (target, _) = self.leader(within=timeout), self._ask(to)
        if target is not None and leader is not to:
            self.maintenance.move_leader(leader.endpoint, target.member_id, timeout=timeout)

    def disarm(self, *, timeout: float = 5.0) -> None:
        """End all alarms."""
        for alarm in self.maintenance.alarms(timeout=timeout):
            self.maintenance.disarm(alarm, timeout=timeout)

    def restart(self, member: Member, *, within: float = 15.0) -> None:
        """Start a member again on its ports and data, ending it first, and wait until it answers.

        Raises:
            EmbeddedError: It did not.
        """
        member.stop()
        member.start()
        self._await((member,), within, leader=False)

    def wait_ready(self, within: float) -> None:
        """Wait until every member knows a leader and the cluster reads.

        Raises:
            EmbeddedError: It does not within so many seconds.
        """
        end = self._clock.now() + within
        self._await(self.members, within, leader=True)
        try:
            self._gateway.range("ready", limit=1, timeout=max(_SHORT, end - self._clock.now()))
        except StoreError as error:
            raise EmbeddedError(f"etcd did not become ready: {error}") from error

    def stop(self) -> None:
        """End all members, and remove a temporary directory."""
        self._gateway.close()
        for member in self.members:
            if member.alive and self._keep:
                member.child.request_end()
            elif member.alive:
                member.kill()
        for member in self.members:
            member.stop()
        if not self._keep:
            shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _await(self, members: Sequence[Member], within: float, *, leader: bool) -> None:
        end = self._clock.now() + within
        waiting = list(members)
        while waiting:
            for member in tuple(waiting):
                status, error = self._ask(member)
                if status is not None and (status.leader or not leader):
                    waiting.remove(member)
                elif isinstance(error, Rejected) or not member.alive or self._clock.now() >= end:
                    silent = f"did not answer ({error or 'it knows no leader'})"
                    how = silent if member.alive else f"ended with code {member.child.exit_code}"
                    raise EmbeddedError(f"etcd member {member.name} {how}; its log ends:\n{member.last_words()}")
            if waiting:
                self._clock.wait(threading.Event(), _POLL)

    def _ask(self, member: Member) -> tuple[MemberStatus | None, StoreError | None]:
        try:
            return self._gateway.status(member.endpoint, timeout=_SHORT), None
        except StoreError as error:
            return None, error
