"""Faults of the network, on the links between the processes of a cluster: cut, slow, failing for a while, forgetful."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from chaos.faults.effect import Effect, Moment, shown
from chaos.faults.fault import Kind, Need
from chaos.faults.parameters import COUNT, SECONDS, choice, parameter
from chaos.faults.undo import Undo
from chaos.faults.wires import Wires
from chaos.proxy.rule import Direction, DropReply, Mode, Rule, Unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chaos.cluster.interface import Target
    from chaos.faults.fault import Applied, Scene
    from chaos.proxy.interface import Held
    from chaos.proxy.link import Link

LINKS: Final = frozenset({Need.LINKS})
ANY: Final = frozenset(Kind)
CLIENTS: Final = frozenset({Kind.REPLICA, Kind.DAEMON})

_FROM: Final = choice("etcd", "presence", "all")
_WAY: Final = choice("both", "to", "from")


@dataclass(frozen=True, slots=True)
class Cut:
    """Cuts processes off from etcd, from each other's presence, or from both, until healed."""

    name: ClassVar[str] = "cut"
    aims: ClassVar[frozenset[Kind]] = ANY
    needs: ClassVar[frozenset[Need]] = LINKS

    off: str = parameter(_FROM, "etcd", what="From what; a member of etcd is cut off from everybody.", leading=True)
    mode: str = parameter(
        choice("black-hole", "refuse", "reset"),
        "black-hole",
        what="Nothing arrives and nobody is told, or connections are refused, or reset.",
    )
    direction: str = parameter(_WAY, "both", what="Of a black hole: what is said to the other side, or by it.")
    members: int = parameter(COUNT, 0, what="From so many of etcd's members, drawn by chance; 0: from all.")

    def __post_init__(self) -> None:
        if self.direction != "both" and self.mode != "black-hole":
            raise ValueError(f"direction: goes with mode black-hole, not {self.mode}")
        if self.members and self.off == "presence":
            raise ValueError("members: goes with off etcd or all")

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:
        wires = Wires(scene)
        rule = Rule(mode=Mode(self.mode), direction=Direction(self.direction))
        return _held(scene, wires, dict.fromkeys(wires.of(targets, self.off, self.members), rule))


@dataclass(frozen=True, slots=True)
class Delay:
    """Makes the way to etcd, to each other's presence, or to both longer, until healed."""

    name: ClassVar[str] = "delay"
    aims: ClassVar[frozenset[Kind]] = ANY
    needs: ClassVar[frozenset[Need]] = LINKS

    latency: float = parameter(SECONDS, 0.2, what="How much longer what is said takes, each way.", leading=True)
    jitter: float = parameter(SECONDS, 0.0, what="By how much that is longer or shorter, drawn by chance.")
    off: str = parameter(_FROM, "etcd", what="The way to what.")
    direction: str = parameter(_WAY, "both", what="What is said to the other side, or by it.")

    def __post_init__(self) -> None:
        if not self.latency > 0:
            raise ValueError("latency: must be more than 0s")
        if self.jitter >= self.latency:
            raise ValueError("jitter: must be less than the latency")
        if self.off == "presence" and self.direction == "to":
            raise ValueError("direction: nothing is said to a presence, only by it: write from, or both")

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:
        wires = Wires(scene)
        rule = Rule(
            direction=Direction(self.direction),
            latency=self.latency,
            jitter=self.jitter,
            seed=scene.random.randrange(2**31),
        )
        return _held(scene, wires, dict.fromkeys(wires.of(targets, self.off, 0), rule))


@dataclass(frozen=True, slots=True)
class FailFirst:
    """Fails the first calls to etcd, then lets all pass."""

    name: ClassVar[str] = "fail-first"
    aims: ClassVar[frozenset[Kind]] = CLIENTS
    needs: ClassVar[frozenset[Need]] = LINKS

    calls: int = parameter(COUNT, 3, what="How many, of all targets together.", leading=True)

    def __post_init__(self) -> None:
        if not self.calls:
            raise ValueError("calls: must be at least 1")

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:
        wires = Wires(scene)
        rule = Rule(mode=Mode.RESET, unit=Unit.CALLS, first=self.calls)
        with Undo() as undo:
            moment, held = _hold(wires, undo, dict.fromkeys(wires.of(targets, "etcd", 0), rule))

            def look() -> str | None:
                failed = held.used()
                return f"{failed} of {self.calls} calls failed so far" if failed else None

            proof = shown(scene, look, "no call to etcd was there to be failed")

        def heal() -> str:
            healed = undo()
            return f"{held.used()} of {self.calls} calls failed; {healed}"

        return Effect(moment, proof, heal, lambda: held.used() >= self.calls)


@dataclass(frozen=True, slots=True)
class DropReplies:
    """Passes transactions on to etcd and swallows the replies of those that were committed."""

    name: ClassVar[str] = "drop-reply"
    aims: ClassVar[frozenset[Kind]] = CLIENTS
    needs: ClassVar[frozenset[Need]] = LINKS

    times: int = parameter(COUNT, 1, what="How many replies, of all targets together.", leading=True)
    of: str = parameter(
        choice("any", "lease", "binds"), "any", what="Of which transactions: elections', those of pods, or any."
    )
    then: str = parameter(
        choice("reset", "silent"), "reset", what="What the connection does then: is reset, or falls silent."
    )

    def __post_init__(self) -> None:
        if not self.times:
            raise ValueError("times: must be at least 1")

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:
        wires = Wires(scene)
        containing = {"any": "", "lease": scene.lock.lease, "binds": f"{scene.lock.prefix}/pods/"}[self.of]
        rule = Rule(drop_reply=DropReply(times=self.times, containing=containing, silent=self.then == "silent"))
        with Undo() as undo:
            moment, held = _hold(wires, undo, dict.fromkeys(wires.of(targets, "etcd", 0), rule))

            def look() -> str | None:
                dropped = held.dropped()
                if not dropped:
                    return None
                first = dropped[0]
                return (
                    f"{first.destination} committed revision {first.revision}, and its reply to {first.source} was "
                    "swallowed"
                )

            proof = shown(scene, look, "no reply of such a transaction was there to be swallowed")

        def heal() -> str:
            healed = undo()
            revisions = ", ".join(str(dropped.revision) for dropped in held.dropped())
            return f"replies of revisions {revisions} were swallowed; {healed}"

        return Effect(moment, proof, heal, lambda: len(held.dropped()) >= self.times)


def _held(scene: Scene, wires: Wires, rules: Mapping[Link, Rule]) -> Effect:
    """Rules in force until healed."""
    with Undo() as undo:
        moment, _ = _hold(wires, undo, rules)
        proof = shown(scene, wires.hurt, "the network went on as before")
    return Effect(moment, proof, undo)


def _hold(wires: Wires, undo: Undo, rules: Mapping[Link, Rule]) -> tuple[Moment, Held]:
    """Put rules in force, until undone."""
    moment, held = wires.hold(rules)

    def lift() -> str:
        held.release()
        return ""

    undo.add(wires.healed)
    undo.add(lift)
    return moment, held
