"""How long a failover took, phase by phase: measured from the moment before the fault."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from chaos.cluster.health import status_of
from chaos.effect import Effect
from chaos.errors import Interrupted, TooSlow
from chaos.faults.clocks import shifts
from chaos.faults.errors import NotAvailable
from chaos.ledger import Ledger
from chaos.measure import accounts
from chaos.measure.phases import Phases, successions
from chaos.pytest.leading import STEP, takeovers
from chaos.record import Action, Record
from component.backoff import Backoff
from lockd.errors import ConfigError

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from chaos.cluster.interface import Target
    from chaos.history import Stamp
    from chaos.pytest.cluster import HaCluster
    from chaos.pytest.injury import Hurt, Injury
    from chaos.pytest.leading import WaitForLeader
    from chaos.record import Account
    from chaos.terms import Term
    from component.clock import Clock

READ: Final = 60.0
"""Seconds that etcd may take to tell its history."""

LOOK: Final = Backoff(initial=0.05, maximum=0.5)
"""Seconds between two looks at what processes wrote, each of which reads all of it."""

PHASES: Final = ("released", "detected", "elected", "warm", "first_bind", "served")


@dataclass(frozen=True, slots=True, kw_only=True)
class Failover:
    """One failover. Each phase is told in seconds from the moment just before the fault to the end of the phase.

    None: the phase was not reached, or nobody told: a service that writes no spans tells neither `detected` nor `warm`.

    Attributes:
        fault: What was done, such as `kill`.
        old: Who led before.
        new: Who leads now, by etcd's word.
        token: The new leader's fencing token.
        takeover: How its term began: `release`, `expiry` or `evidence`.
        released: The old leader's release was seen; None: it made none.
        detected: The new leader sent the acquire that won, as its trace tells.
        elected: That acquire was committed, as etcd's watch or its reply brought it, whichever was first.
        warm: The new leader's caches had passed its token, as its trace tells.
        first_bind: Its first bind was committed, as the watch brought it.
        served: It answered: the probe, or `/leader`. Late by a look (20 ms) and what one takes, and by what the fault
            took to be proved.
        error: Seconds by which `detected` and `warm` may be off, which other clocks told.
    """

    fault: str
    old: Target
    new: Target
    token: int
    takeover: str
    released: float | None = None
    detected: float | None = None
    elected: float | None = None
    warm: float | None = None
    first_bind: float | None = None
    served: float | None = None
    error: float = 0.0

    def phases(self) -> dict[str, float]:
        """The phases that were reached, in seconds, in their order."""
        return {name: value for name in PHASES if (value := getattr(self, name)) is not None}

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def __str__(self) -> str:
        told = ", ".join(f"{name} {seconds * 1e3:.1f} ms" for name, seconds in self.phases().items())
        return f"{self.fault} of {self.old.name}, then {self.new.name} by {self.takeover}: {told}"


class MeasureFailover:
    """For one test: hurts whoever leads, waits until another does, and takes apart what that took.

    Args:
        told: Gets each failover.
    """

    def __init__(
        self,
        cluster: HaCluster,
        hurt: Hurt,
        wait_for_leader: WaitForLeader,
        *,
        told: Callable[[Failover], None],
        stop: threading.Event,
        clock: Clock,
    ) -> None:
        self._cluster = cluster
        self._hurt = hurt
        self._wait_for_leader = wait_for_leader
        self._told = told
        self._stop = stop
        self._clock = clock

    def __call__(
        self,
        fault: str = "kill",
        role: str | None = "leader",
        /,
        *,
        probe: Callable[[], object] | None = None,
        until: str = "",
        within: float | None = None,
        **parameters: Any,
    ) -> Failover:
        """Do it, and return once another leads and serves; the fault is healed then.

        Args:
            fault: As for `hurt`, with its role and parameters.
            probe: What a client does; its first true answer after the fault ends `served`. An exception is an answer
                that is not true. None: the new leader's `/leader` says 200.
            until: A phase that must be reached, too: `warm` (the default for replicas), `first_bind` ...
            within: Seconds for all of it; None: what it may take at most, with room for a busy machine.

        Raises:
            TooSlow: Nobody else came to lead, or a phase was not reached in time.
            ConfigError, NotAvailable, NoTarget, NotApplied, NotHealed, StoreError, Interrupted: As `hurt` has it.
        """
        __tracebackhide__ = True  # what went wrong is told in one line; the test is what is to be seen
        within = self._cluster.patience if within is None else within
        wanted = self._wanted(until)
        old = self._wait_for_leader(within=within)
        with self._hurt(fault, role, **parameters) as injury:
            if role == "leader":
                old = injury.target  # who had the role was looked up once more, and may have been another by then
            served = _Served(probe, self._clock)
            new = self._wait_for_leader.until(other_than=old, within=within, meanwhile=served.look)
            end = injury.at + within
            served.by_default(lambda: status_of(new.address, "/leader") == 200)
            while not served.look():
                self._pause(end, f"{new.name} leads, and was not seen to serve{served.trouble}")
            found = self._found(injury, old, new, served.at)
            looks = count()
            while wanted and getattr(found, wanted) is None:
                self._pause(end, f"{new.name} leads, and {wanted} was not reached", LOOK.delay(next(looks)))
                found = self._found(injury, old, new, served.at)
        self._told(found)
        return found

    def _wanted(self, until: str) -> str:
        __tracebackhide__ = True
        if until and until not in PHASES:
            raise ConfigError((f"until: no failover has {until!r}: it has {', '.join(PHASES)}",))
        if until == "warm" and not self._cluster.traced:
            raise NotAvailable("until='warm': nobody tells when caches are warm, which only traces of replicas do")
        return until or ("warm" if self._cluster.traced else "")

    def _pause(self, end: float, otherwise: str, seconds: float = STEP) -> None:
        __tracebackhide__ = True
        if self._clock.now() >= end:
            raise TooSlow(f"{otherwise} in time; see {self._cluster.folder}")
        if self._clock.wait(self._stop, seconds):
            raise Interrupted("the session ends")

    def _found(self, injury: Injury, old: Target, new: Target, served: float | None) -> Failover:
        auditor, folder = self._cluster.auditor, self._cluster.folder
        ledger = Ledger.of(auditor.history(within=READ))
        stamps = auditor.stamps()
        shifted = shifts((done.fault, done.targets, done.parameters) for done in self._hurt.injuries)
        lock = self._cluster.shape.lock
        return failover(
            injury,
            old,
            new,
            served=served,
            lock=lock,
            ledger=ledger,
            stamps=stamps,
            told=accounts.gather(folder / "trace", None, stamps, shifted=shifted),
        )


class _Served:
    """The first true answer of a probe."""

    def __init__(self, probe: Callable[[], object] | None, clock: Clock) -> None:
        self.at: float | None = None
        self.trouble = ""
        self._probe = probe
        self._clock = clock

    def by_default(self, probe: Callable[[], object]) -> None:
        """Ask this, if there is nothing else to ask."""
        self._probe = self._probe or probe

    def look(self) -> bool:
        """Ask, unless it has answered; has it?"""
        if self.at is None and self._probe is not None:
            try:
                answered = bool(self._probe())
            except Exception as error:  # noqa: BLE001 - a client's error is no answer
                answered, self.trouble = False, f" ({type(error).__name__}: {error})"
            if answered:
                self.at = self._clock.now()
        return self.at is not None


def failover(
    injury: Injury,
    old: Target,
    new: Target,
    *,
    served: float | None,
    lock: str,
    ledger: Ledger,
    stamps: Mapping[int, Stamp],
    told: Sequence[Account],
) -> Failover:
    """What a record shows of a failover. Pure.

    Args:
        served: When the new leader first answered, on CLOCK_BOOTTIME.
        lock: `<namespace>/<name>`.
        told: What the processes wrote of themselves.
    """
    record = Record(ledger=ledger, stamps=stamps, accounts=tuple(told), actions=tuple(actions(injury)), locks=(lock,))
    term = _term(ledger.terms.by_token.values(), lock, new.identity)
    found = next((each for each in successions(record) if term is not None and each.new == term), None)
    phases, token = Phases(), 0
    if term is not None:
        token, seen = term.token, record.seen(term.token)
        phases = Phases(elected=None if seen is None else seen - injury.at) if found is None else found.phases
    return Failover(
        fault=injury.fault,
        old=old,
        new=new,
        token=token,
        takeover=takeovers(ledger.history).get(token, ""),
        released=found.released if found is not None else None,
        detected=phases.detected,
        elected=phases.elected,
        warm=phases.warm,
        first_bind=phases.first_bind,
        served=None if served is None else served - injury.at,
        error=phases.error,
    )


def actions(injury: Injury) -> Iterable[Action]:
    """A fault as judges and measures know it: one action for each target."""
    for name, identity in [(each.name, each.identity) for each in injury.targets] or [("cluster", "")]:
        yield Action(
            fault=injury.fault,
            effect=Effect.of(injury.fault, on_etcd=name.startswith("etcd-")),
            target=name,
            identity=identity,
            at=injury.at,
            wall=injury.wall,
            proof=injury.proof,
            healed_at=injury.healed_at,
            healing=injury.healing,
            parameters=injury.parameters,
        )


def _term(terms: Iterable[Term], lock: str, identity: str) -> Term | None:
    """The newest term of that holder."""
    return next((each for each in reversed([*terms]) if each.lock == lock and each.identity == identity), None)
