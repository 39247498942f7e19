"""Custody: owns every fault of a run, and heals them all in the end, however it ends."""

from __future__ import annotations

import os
import random as chance
from typing import TYPE_CHECKING, Final, Self

from chaos.cluster.hosted import Continue
from chaos.cluster.supervisor import MARKER
from chaos.faults import told
from chaos.faults.errors import NotApplied, NotAvailable, NotHealed
from chaos.faults.fault import PATIENCE, Scene
from chaos.faults.guard import GuardProcess
from component.clock import SystemClock
from component.process import Gone

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from chaos.cluster.interface import Target
    from chaos.faults.fault import Applied, Fault
    from chaos.faults.place import Place
    from component.clock import Clock
    from lockd.etcd.gateway import Gateway

TIMEOUT: Final = 5.0
"""Seconds that etcd may take to say whether faults are allowed."""


class Custody:
    """Applies faults; at the end of its block all are healed, newest first. For one thread, or guarded by its user.

    A guard process heals what must not stay, such as a stopped process, when this one is killed. A block that was left
    by an exception still heals; what can't be healed then is told, not raised.

    Attributes:
        scene: What faults are applied with.
    """

    def __init__(
        self,
        place: Place,
        *,
        stop: threading.Event,
        random: chance.Random | None = None,
        clock: Clock | None = None,
        patience: float = PATIENCE,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Do nothing yet.

        Args:
            stop: Gives up applying at once; the block is to be left then.
            tell: Gets one line for each fault that could not be healed in the end.
        """
        self._guard = GuardProcess()
        self._marked = place.marked
        self._tell = tell
        self._held: list[Applied] = []
        self.scene = Scene(
            cluster=place.cluster,
            gateway=place.gateway,
            lock=place.lock,
            clock=clock or SystemClock(),
            stop=stop,
            random=random or chance.Random(),  # noqa: S311  # no secret is drawn
            folder=place.folder,
            guard=self._guard,
            remedies=place.remedies,
            patience=patience,
        )

    def __enter__(self) -> Self:
        """Begin.

        Raises:
            NotAvailable: The cluster doesn't carry the marker that allows faults.
            StoreError: etcd can't be asked.
        """
        if self._marked:
            allow(self.scene.gateway, self.scene.lock.prefix)
        self._guard.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        problems = self._heal_all()
        self._guard.close()
        for problem in problems:
            self._tell(problem)
        if problems and error is None:
            raise NotHealed("; ".join(problems))

    def prepare(self) -> None:
        """Have the guard process run, so that no fault waits for its start between its moment and its effect.

        Raises:
            NotApplied: There is none to be had.
        """
        self._guard.promise(Continue(os.getpid(), 0)).release()  # names nobody: no process began at tick 0

    def apply(self, fault: Fault, targets: Sequence[Target] = ()) -> Applied:
        """Apply a fault and own it.

        Raises:
            NotApplied, NotAvailable, Interrupted: As `Fault.apply` says; nothing of it is left then.
        """
        if not self._marked and self._hurts_etcd(fault, targets):
            allow(self.scene.gateway, self.scene.lock.prefix)
        try:
            applied = fault.apply(self.scene, targets)
        except Gone as error:
            raise NotApplied(f"{fault.name}: {error}") from error
        if self.scene.folder is not None:
            told.tell(self.scene.folder, fault.name, targets, applied, until=self.scene.clock.wall())
        self._held.append(applied)
        return applied

    def _hurts_etcd(self, fault: Fault, targets: Sequence[Target]) -> bool:
        """Is it done to members of etcd, to its keys, or to all of the cluster?"""
        members = {member.name for member in self.scene.cluster.etcd_members()}
        return not fault.aims or any(target.name in members for target in targets)

    def heal(self, applied: Applied) -> str:
        """Heal one of them, and give the proof.

        Raises:
            NotHealed: It can't be shown to be undone; it is tried again at the end.
        """
        proof = applied.heal()
        if applied in self._held:
            self._held.remove(applied)
        return proof

    def _heal_all(self) -> list[str]:
        """Heal all. Who could not be healed is tried again: it may have waited for what the others held back."""
        held, self._held = self._held, []
        failed = _unhealed(held)
        if failed and len(failed) < len(held):
            failed = _unhealed([applied for applied, _ in reversed(failed)])
        return [problem for _, problem in failed]


def _unhealed(held: Sequence[Applied]) -> list[tuple[Applied, str]]:
    """Heal each, newest first; those that could not be, and why."""
    failed = []
    for applied in reversed(held):
        try:
            applied.heal()
        except Exception as error:  # noqa: BLE001  # the others are to be healed all the same
            failed.append((applied, str(error)))
    return failed


def allow(gateway: Gateway, prefix: str) -> None:
    """Refuse a cluster that was not made to be hurt.

    Raises:
        NotAvailable: It doesn't carry the marker key.
        StoreError: etcd can't be asked.
    """
    if not gateway.range(f"{prefix}/{MARKER}", timeout=TIMEOUT).kvs:
        raise NotAvailable(
            f"{prefix}/{MARKER} is not there, so faults are not allowed: make a cluster with `chaosctl up`, "
            f"or put that key if this one may be hurt: etcdctl put {prefix}/{MARKER} yes"
        )
