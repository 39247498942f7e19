"""Faults that a test does to its cluster: each in force until it is healed, at the end of the test at the latest."""

from __future__ import annotations

import contextlib
import random
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from chaos.errors import Interrupted
from chaos.faults import registry
from chaos.faults.custody import Custody
from chaos.faults.errors import NotAvailable, NotHealed
from chaos.hurt.hurting import cast
from chaos.hurt.order import kind_of
from chaos.pytest.settings import NEEDS
from chaos.roles import Role
from chaos.targets import NoTarget, resolve
from lockd.errors import ConfigError, StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chaos.cluster.interface import Target
    from chaos.faults.fault import Applied, Fault
    from chaos.pytest.cluster import HaCluster
    from component.clock import Clock

STEP: Final = 0.02
"""Seconds between two looks for somebody who has a role."""


@dataclass(slots=True, kw_only=True)
class Injury:
    """A fault in force; a context manager that heals it at the end of its block. Moments are on CLOCK_BOOTTIME.

    Attributes:
        fault: Its name, such as `pause`.
        targets: Who was hit; none: the whole cluster.
        at: Just before it was done.
        proof: What was observed that shows that it took effect.
        healed_at: When it was seen to be undone; None: it is in force.
        healing: What was observed that shows that.
    """

    fault: str
    targets: tuple[Target, ...]
    at: float
    wall: float
    proof: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    healed_at: float | None = None
    healing: str = ""
    _applied: Applied = field(repr=False)
    _hurt: Hurt = field(repr=False)

    @property
    def target(self) -> Target:
        """The one that was hit, of a fault that is aimed at one.

        Raises:
            ValueError: It hit several, or the whole cluster.
        """
        (only,) = self.targets
        return only

    @property
    def over(self) -> bool:
        """Has all been done that it does by itself? A kill is over at once, a cut never is."""
        return self._applied.over

    def heal(self) -> str:
        """Undo it, if it is still in force.

        Returns:
            What was observed that shows that it is undone.

        Raises:
            NotHealed: It can't be shown to be undone.
        """
        return self._hurt.heal(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.heal()


class Hurt:
    """Hurts the cluster of one test. Its faults are applied and healed one at a time, from whatever thread.

    Args:
        seed: Decides which process it is where a role leaves that open.
        stop: Gives up applying at once.

    Attributes:
        injuries: In order, the healed ones too.
    """

    def __init__(self, cluster: HaCluster, *, seed: int, stop: threading.Event, clock: Clock) -> None:
        self.injuries: list[Injury] = []
        self._cluster = cluster
        self._random = random.Random(seed)  # noqa: S311 - what is drawn is to be drawn again
        self._stop = stop
        self._clock = clock
        self._lock = threading.RLock()
        self._undo = contextlib.ExitStack()
        self._custody: Custody | None = None

    def __call__(self, fault: str, role: str | None = None, /, **parameters: Any) -> Injury:
        """Do it, and return once its effect is proved.

        Args:
            fault: Such as `kill`: see docs/chaos.md for all of them.
            role: At whom, such as `leader`, `standby` or `etcd-1`; None: the whole cluster. Nobody has it: it is waited
                until somebody does, as after a failover.
            parameters: Of the fault; `_` stands for `-`. Durations are seconds or texts such as "500ms".

        Raises:
            ConfigError: No such fault, role or parameter; every mistake, one line each.
            NotAvailable: The cluster wasn't made for it; says how to mark the test.
            NoTarget: Nobody came to have the role.
            NotApplied: It had no effect, or none can be shown: nothing of it is left.
            Interrupted: The session ends.
        """
        __tracebackhide__ = True  # what went wrong is told in one line; the test is what is to be seen
        asked, aimed = aim(fault, role, parameters)
        self._fit(asked)
        with self._lock:
            custody = self._custody or self._begin()
            targets = self._targets(aimed)
            applied = custody.apply(asked, targets)
            injury = Injury(
                fault=asked.name,
                targets=targets,
                at=applied.at,
                wall=applied.wall,
                proof=applied.proof,
                parameters=parameters,
                _applied=applied,
                _hurt=self,
            )
            self.injuries.append(injury)
            return injury

    def heal(self, injury: Injury) -> str:
        """Undo one of them; see `Injury.heal`."""
        with self._lock:
            if self._custody is not None and injury.healed_at is None:
                injury.healing = self._custody.heal(injury._applied)  # noqa: SLF001 - it is handed out by us
                injury.healed_at = self._clock.now()
            return injury.healing

    def close(self) -> None:
        """Heal all that is still in force, newest first.

        Raises:
            NotHealed: Something can't be shown to be undone.
        """
        with self._lock, self._undo:
            for injury in reversed(self.injuries):
                with contextlib.suppress(NotHealed):  # tried once more by the custody, which raises what stays
                    self.heal(injury)

    def _begin(self) -> Custody:
        opened = Custody(self._cluster.place, stop=self._stop, random=self._random, clock=self._clock)
        self._custody = self._undo.enter_context(opened)
        return self._custody

    def _fit(self, fault: Fault) -> None:
        __tracebackhide__ = True
        missing = sorted(name for name, need in NEEDS.items() if need in fault.needs - self._cluster.shape.needs)
        if missing:
            wanted = ", ".join(f"{name}=True" for name in missing)
            mark = f"mark the test @pytest.mark.ha_cluster({wanted})"
            raise NotAvailable(f"{fault.name} takes a cluster with {' and '.join(missing)}: {mark}")

    def _targets(self, role: Role | None) -> tuple[Target, ...]:
        """Those who have the role now, or as soon as somebody does."""
        __tracebackhide__ = True
        if role is None:
            return ()
        draw = self._random.random()
        end = self._clock.now() + self._cluster.patience
        while True:
            try:
                return resolve(role, cast(role, self._cluster.cluster), draw)
            except (NoTarget, StoreError):
                if self._clock.now() >= end:
                    raise
            if self._clock.wait(self._stop, STEP):
                raise Interrupted("the session ends")


def aim(fault: str, role: str | None, parameters: Mapping[str, Any]) -> tuple[Fault, Role | None]:
    """The fault and the role that words ask for. Pure.

    Raises:
        ConfigError: With every mistake.
    """
    __tracebackhide__ = True
    problems: list[str] = []
    asked: Fault | None = None
    aimed: Role | None = None
    try:
        asked = registry.make(fault, parameters)
    except ConfigError as error:
        problems += error.problems
    try:
        aimed = None if role is None else Role.parse(role)
    except ValueError as error:
        problems.append(str(error))
    if asked is not None and not problems:
        kinds = ", ".join(sorted(kind.value for kind in asked.aims))
        if role is None and asked.aims:
            problems.append(f"{fault}: at whom? Name a role, such as leader or etcd-1 ({kinds})")
        elif aimed is not None and not asked.aims:
            problems.append(f"{fault} is aimed at the whole cluster: leave {role!r} out")
        elif aimed is not None and kind_of(aimed) not in asked.aims:
            problems.append(f"{fault} can't be aimed at {role}: only at {kinds}")
        elif aimed is not None and aimed.kind == "old-leader":
            problems.append("old-leader is for scenarios: name the process, as Target.name does")
    if problems or asked is None:
        raise ConfigError(tuple(problems))
    return asked, aimed
