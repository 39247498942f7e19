"""Faults that go on by themselves: one process ended again and again, or all of them one after the other."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from chaos.cluster import health
from chaos.errors import Interrupted
from chaos.faults.effect import Effect, Moment, shown
from chaos.faults.errors import NotApplied, NotHealed
from chaos.faults.fault import NOTHING, Kind
from chaos.faults.parameters import COUNT, SECONDS, choice, parameter
from chaos.faults.processes import gone, present, returned, strike
from component.lifecycle import Group
from component.process import Gone

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from chaos.cluster.interface import Target
    from chaos.faults.fault import Applied, Need, Scene

STEP: Final = 0.02
BACK: Final = 60.0
"""Seconds that a process may take to be back and ready before the next one is ended."""

ENDING: Final = 5.0
"""Seconds that a loop may take to end once it is told to."""


@dataclass(frozen=True, slots=True)
class CrashLoop:
    """Kills processes again whenever they have come back, until healed."""

    name: ClassVar[str] = "crash-loop"
    aims: ClassVar[frozenset[Kind]] = frozenset({Kind.REPLICA, Kind.DAEMON})
    needs: ClassVar[frozenset[Need]] = NOTHING

    every: float = parameter(SECONDS, 0.0, what="How long one lives before it is killed again.")
    times: int = parameter(COUNT, 0, what="How often each is killed; 0: until healed.")

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:
        loop = _Loop(scene, [target.name for target in targets])
        moment = Moment.now(scene.clock)
        proof = "; ".join(_end(scene, target, scene.cluster.kill, "killed") for target in targets)
        killed = dict.fromkeys(loop.names, 1)

        def again(name: str, stop: threading.Event) -> None:
            while not self.times or killed[name] < self.times:
                target = loop.await_living(name, stop)
                if target is None or scene.clock.wait(stop, self.every):
                    return
                with contextlib.suppress(Gone):
                    scene.cluster.kill(target)
                    killed[name] += 1

        def heal() -> str:
            loop.finish()
            back = "; ".join(returned(scene, target) for target in loop.last.values())
            told = ", ".join(f"{name} was killed {count} times" for name, count in killed.items())
            return f"{told}; {back}"

        loop.last = {target.name: target for target in targets}
        loop.begin(again)
        return Effect(moment, proof, heal, lambda: bool(self.times) and loop.ended)


@dataclass(frozen=True, slots=True)
class RollingRestart:
    """Ends processes one after the other, each once the one before is back and ready."""

    name: ClassVar[str] = "rolling-restart"
    aims: ClassVar[frozenset[Kind]] = frozenset({Kind.REPLICA})
    needs: ClassVar[frozenset[Need]] = NOTHING

    how: str = parameter(choice("terminate", "kill"), "terminate", what="How each is ended.")
    pause: float = parameter(SECONDS, 0.0, what="How long nothing happens between two.")

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:
        if not targets:
            raise NotApplied("nobody is there to be restarted")
        hard = self.how == "kill"
        end, how = (scene.cluster.kill, "killed") if hard else (scene.cluster.terminate, "ended when asked")
        loop = _Loop(scene, [targets[0].name])
        restarted: list[str] = []
        moment = Moment.now(scene.clock)
        proof = _end(scene, targets[0], end, how)

        def roll(_: str, stop: threading.Event) -> None:
            last = targets[0]
            for target in (*targets[1:], None):
                back = loop.await_living(last.name, stop, unlike=last, ready=True)
                if back is None:
                    return
                restarted.append(f"{back.name} is back as pid {back.pid}")
                if target is None or scene.clock.wait(stop, self.pause):
                    return
                last = present(scene, target.name) or target
                _end(scene, last, end, how)

        def heal() -> str:
            loop.finish()
            return f"{len(restarted)} of {len(targets)} restarted: {', '.join(restarted) or 'none is back yet'}"

        loop.begin(roll)
        return Effect(moment, proof, heal, lambda: loop.ended)


class _Loop:
    """Threads that carry a fault on, one for each name."""

    def __init__(self, scene: Scene, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.last: dict[str, Target] = {}
        self._scene = scene
        self._group = Group("chaos", clock=scene.clock)

    @property
    def ended(self) -> bool:
        return not self._group.alive

    def begin(self, run: Callable[[str, threading.Event], None]) -> None:
        for name in self.names:
            self._group.spawn(name, self._run, run, name)

    def finish(self) -> None:
        """End the threads.

        Raises:
            NotHealed: One failed, or does not end.
        """
        self._group.request_stop()
        if left := self._group.join(ENDING + self._scene.patience):
            raise NotHealed(f"{', '.join(left)} did not end")
        if self._group.failure is not None:
            raise NotHealed(str(self._group.failure)) from self._group.failure

    def await_living(
        self, name: str, stop: threading.Event, *, unlike: Target | None = None, ready: bool = False
    ) -> Target | None:
        """The process that has a name, once one lives (`ready`: and says so); None: told to stop.

        Raises:
            NotApplied: It took too long.
        """
        end = self._scene.clock.now() + BACK
        while not self._scene.clock.wait(stop, STEP):
            target = present(self._scene, name)
            if (
                target is not None
                and (unlike is None or not target.is_same(unlike))
                and (not ready or health.status_of(target.address, "/readyz") == 200)
            ):
                self.last[name] = target
                return target
            if self._scene.clock.now() >= end:
                raise NotApplied(f"{name} was not back within {BACK:g} s")
        return None

    def _run(self, run: Callable[[str, threading.Event], None], name: str) -> None:
        with contextlib.suppress(Interrupted):
            run(name, self._group.stop)


def _end(scene: Scene, target: Target, end: Callable[[Target], None], how: str) -> str:
    strike([target], end)
    return shown(scene, lambda: gone(scene, target, how), f"{target.name} (pid {target.pid}) did not end")
