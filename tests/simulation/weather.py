"""What a network does to requests, replies and events, and what befalls the processes: drawn from one seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

LEADER = -1
"""As a fault's target: whoever leads then."""


class Kind(Enum):
    """What befalls a process or the network."""

    KILL = "kill"
    TERM = "term"
    PAUSE = "pause"
    """SIGSTOP, or a suspend that the clock counts."""
    SUSPEND = "suspend"
    """A suspend that the clock doesn't count, as that of a virtual machine can be."""
    CUT = "cut"
    """One host's packets are lost."""
    DEAF = "deaf"
    """One host's requests arrive, but nothing comes back to it."""
    OUTAGE = "outage"
    """etcd answers nobody."""
    REFUSE = "refuse"
    """etcd refuses connections."""
    HANG = "hang"
    """The work makes no progress."""
    MEDDLE = "meddle"
    """A person writes or deletes a key of the lock, past all rules."""
    RESET = "reset"
    """Something between them breaks the presence connections to a process, and keeps them from being made again."""
    BREAK = "break"
    """A client's stream breaks."""
    STICK = "stick"
    """The next request of a process is stuck in a buffer for a while, and the process is killed."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that happens at a moment of true time."""

    at: float
    kind: Kind
    slot: int = LEADER
    seconds: float = 0.0

    def __str__(self) -> str:
        who = "leader" if self.slot == LEADER else f"host {self.slot}"
        return f"{self.at:8.3f} {self.kind.value} {who} {self.seconds:.3f} s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """Chances and delays, in true seconds.

    Attributes:
        latency: One way, from and to.
        lost: Chance that a request or a reply is lost.
        late: Chance that it is late, by up to `lateness`.
        watch: Delay of an event, from and to.
        spurious: Chance that a copy brings an error although it was applied.
    """

    latency: tuple[float, float] = (0.001, 0.02)
    lost: float = 0.0
    late: float = 0.0
    lateness: float = 6.0
    watch: tuple[float, float] = (0.001, 0.03)
    spurious: float = 0.0

    def delay(self, random: Random) -> float | None:
        """Of a request or a reply; None when it is lost."""
        if random.random() < self.lost:
            return None
        delay = random.uniform(*self.latency)
        return delay + random.uniform(0.0, self.lateness) if random.random() < self.late else delay

    def watch_delay(self, random: Random) -> float:
        delay = random.uniform(*self.watch)
        return delay + random.uniform(0.0, self.lateness) if random.random() < self.late else delay


CALM = Weather()
STORM = Weather(lost=0.1, late=0.1, lateness=14.0, spurious=0.05)


@dataclass(frozen=True, slots=True)
class Script:
    """The faults of one run, in their order."""

    faults: tuple[Fault, ...] = field(default=())

    @classmethod
    def draw(
        cls, random: Random, kinds: tuple[Kind, ...], *, until: float, gap: tuple[float, float], hosts: int
    ) -> Script:
        """One fault after another with a drawn gap; three of four befall whoever leads."""
        faults: list[Fault] = []
        at = random.uniform(*gap)
        while at < until:
            slot = LEADER if random.random() < 0.75 else random.randrange(hosts)
            faults.append(
                Fault(at, random.choice(kinds), slot, random.choice((1.0, 4.0, 12.0, 25.0)) * random.random())
            )
            at += random.uniform(*gap)
        return cls(tuple(faults))

    def __str__(self) -> str:
        return "\n".join(map(str, self.faults))
