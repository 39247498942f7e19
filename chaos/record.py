"""A record: all that is known of one run, as values. Whatever is judged or measured, is so from this alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from chaos.effect import Effect
from chaos.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from chaos.history import Stamp
    from chaos.ledger import Ledger
    from chaos.spans import Span

LOCK: Final = "kube-system/kube-scheduler"
"""The lock of replicas that were given no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One fault that was applied to one target. Moments are seconds on the tool's CLOCK_BOOTTIME.

    Attributes:
        fault: Its name, such as `kill`.
        target: The target's name, such as `replica-2`.
        identity: Of the process that it hit; a member's name.
        at: Just before it was applied.
        wall: The same in wall seconds, for display.
        proof: What was observed that shows that it took effect; "": nothing was.
        lifted_at: From when on it need not be in force: just before it was undone; None: as healed_at.
        healed_at: When it was seen to be undone; None: never.
        healing: What was observed that shows that it was undone; "": nothing was.
        heals: Has it something to undo? The end of a process has not.
        role: What the scenario aimed at, such as `leader`.
        trigger: What fired it, such as `after leader-acquired`.
        nth: Of how many such events.
        revisions: Of the writes that the fault itself made: nobody else is blamed for them.
    """

    fault: str
    effect: Effect
    target: str
    identity: str
    at: float
    wall: float = 0.0
    proof: str = ""
    lifted_at: float | None = None
    healed_at: float | None = None
    healing: str = ""
    heals: bool = True
    role: str = ""
    trigger: str = ""
    nth: int = 1
    parameters: Mapping[str, Any] = field(default_factory=dict)
    revisions: tuple[int, ...] = ()

    def hit(self, identity: str, name: str, *, since: float, until: float) -> bool:
        """Was it done to a process: by its identity, or by its name while it was there?"""
        return self.identity == identity or (self.target == name and since <= self.at <= until)

    @property
    def cuts_off(self) -> bool:
        """Does it cut its target off from every etcd member?"""
        whole = self.parameters.get("off", "etcd") != "presence" and not self.parameters.get("members")
        return self.fault in ("cut", "isolate") and self.effect is Effect.CUT and whole

    @property
    def over_at(self) -> float:
        """From when on nothing of it is in force."""
        if not self.heals:
            return self.at
        return self.healed_at if self.healed_at is not None else float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """The end of one process.

    Attributes:
        name: Such as `replica-2`.
        code: Its exit code; -N: a signal N ended it.
        at: When its end was seen.
        asked_at: When it was asked to end; None: never.
    """

    name: str
    identity: str
    code: int
    at: float
    asked_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """One line of a process's log, its moment mapped."""

    at: float
    level: str
    event: str
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What one process told of itself in its trace and its log, brought from its clock to the tool's.

    Attributes:
        name: Such as `replica-2`; "" when nobody knows it.
        spans: By start; `start` and `end` are on the tool's CLOCK_BOOTTIME.
        lines: Of its log, in order.
        error: Seconds by which a mapped moment may be off.
    """

    identity: str
    name: str = ""
    spans: tuple[Span, ...] = ()
    lines: tuple[LogLine, ...] = ()
    error: float = 0.0

    def told(self, name: str) -> Iterator[Span]:
        """Its spans of one name, by start."""
        return (span for span in self.spans if span.name == name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One transaction or read of a client, as the client saw it.

    Attributes:
        client: Who sent it.
        what: For people, such as `create pods/default/web-1`.
        sent: Before its first copy was sent.
        replied: After its outcome was known; None: it never was.
        outcome: `applied`: it took effect (or was read) at `revision`; `refused`: its compare failed as of `revision`;
            `unknown`: nobody told.
        revision: Of the reply's header; None when unknown.
        mark: A text in what it wrote that is in nothing else, such as a uid; "" for a read.
        error: Seconds by which its moments may be off.
    """

    client: str
    what: str
    sent: float
    replied: float | None
    outcome: Literal["applied", "refused", "unknown"]
    revision: int | None = None
    mark: str = ""
    error: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A time in which no bind was acknowledged to a client, though pods were waiting."""

    began: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOff:
    """A time in which a replica could reach no etcd member at all. `until` None: to the end."""

    identity: str
    at: float
    until: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Everything that was observed in a run, or in one trial of it.

    Attributes:
        ledger: etcd's history, read.
        stamps: When the auditing watch brought each revision.
        accounts: What each process told of itself.
        actions: What was done, in order.
        exits: The ends of replicas and daemons.
        operations: What clients did and were told; the replicas' own are in their accounts.
        gaps: As the workload's clients saw them.
        cut_off: Who could reach no etcd member, and when.
        members: How many etcd has.
        locks: Those that somebody must lead, `<namespace>/<name>`.
        until: When watching ended, on the tool's clock: what was due later isn't judged.
        settled: Had the cluster its time after the last fault? Only then is anything lost.
        slack: Seconds that a busy machine may add to a bound.
    """

    ledger: Ledger
    stamps: Mapping[int, Stamp] = field(default_factory=dict)
    accounts: tuple[Account, ...] = ()
    actions: tuple[Action, ...] = ()
    exits: tuple[Exit, ...] = ()
    operations: tuple[Operation, ...] = ()
    gaps: tuple[Gap, ...] = ()
    cut_off: tuple[CutOff, ...] = ()
    timing: Timing = field(default_factory=Timing)
    members: int = 3
    locks: tuple[str, ...] = (LOCK,)
    until: float = 0.0
    settled: bool = True
    slack: float = 5.0

    def seen(self, revision: int | None) -> float | None:
        """When the watch brought a revision; None: it didn't, or there is none."""
        stamp = self.stamps.get(revision) if revision is not None else None
        return stamp.now if stamp is not None else None

    def account(self, identity: str) -> Account | None:
        """What a process told."""
        return next((each for each in self.accounts if each.identity == identity), None)

    def name(self, identity: str) -> str:
        """A process's name for people; its identity when nobody knows one."""
        known = {action.identity: action.target for action in self.actions}
        known |= {end.identity: end.name for end in self.exits}
        known |= {account.identity: account.name for account in self.accounts if account.name}
        return known.get(identity) or identity

    def moment(self, at: float | None) -> str:
        """A moment for people: seconds since the first thing that was seen."""
        first = min((stamp.now for stamp in self.stamps.values()), default=0.0)
        return "-" if at is None else f"{at - first:+.3f} s"

    @property
    def by_hand(self) -> frozenset[int]:
        """The revisions that faults wrote."""
        return frozenset(revision for action in self.actions for revision in action.revisions)
