"""The journal as a document: each class is one object of `journal.json`, each attribute one key of it.

journal.schema.json, which is shipped, is made from these classes. Keys that a reader doesn't know are passed over, so
newer journals of one schema can be read: another `subject` than replicas, another `kind` than trials, and reports
beside them, need no new one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path  # noqa: TC003 - msgspec reads the annotations
from typing import Any, Final

import msgspec

from chaos.measure.distribution import Distribution
from lockd.errors import ConfigError

SCHEMA: Final = 1
"""Of the document; it grows when a reader of the old one would misread the new one."""

FILE: Final = "journal.json"

RESULT: Final = ("schema", "scenario", "backend", "seed", "trials", "summary", "checks")
"""The keys of `-o json`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhasesMs:
    """Milliseconds from the fault to the end of each phase; null: not reached."""

    detected_ms: float | None = None
    elected_ms: float | None = None
    warm_ms: float | None = None
    first_bind_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A fault as the schedule has it: the same seed and scenario give the same.

    Attributes:
        role: Whom it is aimed at; "": at the cluster.
        draw: In [0, 1): which of those who have the role, where that is open.
        trigger: `at`, `after`, `when`, or `next`.
        what: The event or condition, or "".
        nth: Which occurrence of it.
        lasts_ms: Until it is undone; null: to the end of the trial.
    """

    fault: str
    role: str
    trigger: str
    what: str = ""
    nth: int = 1
    draw: float = 0.0
    at_ms: float = 0.0
    delay_ms: float = 0.0
    lasts_ms: float | None = None
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A fault as it was applied. Moments are milliseconds since the trial began."""

    fault: str
    role: str
    target: str
    identity: str
    at_ms: float
    healed_ms: float | None
    proof: str
    healing: str
    time: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One run of the method.

    Attributes:
        fault: For people, such as `kill leader`.
        phases: Of the hand-off that followed it, times from the fault.
        takeover: How the successor came to its term.
        error_ms: By how much moments out of the successor's trace may be off.
        client_gap_ms: The longest time without an acknowledged bind, as a client saw it.
        ok: Were all wanted phases reached, and did all that was expected hold?
        problems: What did not, one line each.
        schedule: What was decided before.
        actions: What was done.
    """

    number: int
    fault: str
    phases: PhasesMs
    seed: str = ""
    takeover: str = ""
    error_ms: float = 0.0
    client_gap_ms: float | None = None
    ok: bool = True
    problems: tuple[str, ...] = ()
    schedule: tuple[Planned, ...] = ()
    actions: tuple[Done, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What shows that a check failed. Keys that don't apply have their empty value.

    Attributes:
        rule: The rule that was broken, such as `stale-token`.
        message: One line.
        facts: The fewest that show it, one a line.
        at_ms: Milliseconds since the run began.
        trial: In which trial; 0: not in one alone.
    """

    rule: str
    message: str
    facts: tuple[str, ...] = ()
    revision: int = 0
    key: str = ""
    token: int = 0
    term_token: int = 0
    identity: str = ""
    at_ms: float | None = None
    trial: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One check over all trials; `evidence` is empty if it held."""

    name: str
    ok: bool
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """One quantity over the trials. Quantiles are values that were seen; `ci95` null: too few for an interval."""

    min: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    max: float | None
    mean: float | None
    count: int
    ci95: dict[str, tuple[float, ...] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Over all trials. `failover_ms` is the phases' `elected_ms`."""

    failover_ms: Statistics
    first_bind_ms: Statistics
    client_gap_ms: Statistics


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a theory says of the failover, milliseconds."""

    name: str
    min: float
    mean: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A threshold that was asked for."""

    threshold: str
    value: float | None
    ok: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """A run.

    Attributes:
        scenario: Its name.
        backend: Of the cluster, such as `local`.
        seed: Repeats the schedule.
        command: Repeats the run.
        began: RFC 3339.
        seconds: How long it took.
        timing: The election's durations in seconds.
        theory: What the timing allows, and what client-go's rules would give.
        sometimes: How often each rare condition was seen.
        thresholds: Those of --fail-if.
        kept: Where history, logs and etcd's data are; "": nothing was kept.
        subject: What was hurt.
        kind: `trials`: apart from each other.
        versions: Of what took part.
    """

    scenario: str
    backend: str
    seed: int
    trials: tuple[Trial, ...]
    summary: Summary
    checks: tuple[CheckResult, ...]
    schema: int = SCHEMA
    command: str = ""
    began: str = ""
    seconds: float = 0.0
    timing: dict[str, float] = field(default_factory=dict)
    theory: tuple[Expected, ...] = ()
    sometimes: dict[str, int] = field(default_factory=dict)
    thresholds: tuple[Verdict, ...] = ()
    kept: str = ""
    subject: str = "replica"
    kind: str = "trials"
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Did every trial, every check and every threshold hold?"""
        held = (self.trials, self.checks, self.thresholds)
        return all(each.ok for group in held for each in group)

    def document(self) -> dict[str, Any]:
        """All of it, as `journal.json` has it."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return {name: built[name] for name in (*RESULT, *(key for key in built if key not in RESULT))}

    def result(self) -> dict[str, Any]:
        """What `-o json` prints."""
        document = self.document()
        return {name: document[name] for name in RESULT}

    def write(self, folder: Path) -> Path:
        """Write it as `journal.json`.

        Raises:
            OSError: It can't be written.
        """
        path = folder / FILE
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self.document()), indent=2) + b"\n")
        return path


def read(path: Path) -> Journal:
    """The journal in a file, or in a folder's `journal.json`. What `-o json` printed is one too.

    Raises:
        ConfigError: It is none, or none that can be read here; one line that says why.
        OSError: The file can't be read.
    """
    if path.is_dir():
        path /= FILE
    content = path.read_bytes()
    try:
        version = msgspec.json.decode(content, type=_Version).schema
        if version != SCHEMA:
            raise ConfigError((f"{path}: a journal of schema {version}: this chaosctl reads schema {SCHEMA}",))
        return msgspec.json.decode(content, type=Journal)
    except msgspec.DecodeError as error:
        raise ConfigError((f"{path}: no journal of chaosctl: {error}",)) from error


def summarize(trials: tuple[Trial, ...]) -> Summary:
    """The summary of trials."""
    return Summary(
        failover_ms=statistics(trial.phases.elected_ms for trial in trials),
        first_bind_ms=statistics(trial.phases.first_bind_ms for trial in trials),
        client_gap_ms=statistics(trial.client_gap_ms for trial in trials),
    )


def statistics(values: Any) -> Statistics:
    """Of the values that there are."""
    return msgspec.convert(Distribution.of(values).document(), Statistics)


@dataclass(frozen=True, slots=True)
class _Version:
    schema: int
