"""What is kept of a run in which something failed: enough to see it, to judge it again, and to repeat it."""

from __future__ import annotations

import base64
import shutil
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from chaos.history import Change, History, Stamp

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from chaos.checks.violation import Violation
    from chaos.record import Record

EVIDENCE: Final = "evidence.txt"
HISTORY: Final = "history.jsonl"
RECORD: Final = "record.json"
CLUSTER: Final = ("log", "trace", "etcd")
"""What is copied of a cluster's folder."""


def keep(
    folder: Path,
    record: Record,
    judged: Mapping[str, Sequence[Violation]],
    *,
    seed: int,
    command: str,
    cluster: Path | None = None,
    problems: Sequence[str] = (),
    parts: Sequence[str] = CLUSTER,
) -> Path:
    """Write it all down.

    Args:
        folder: Made if it isn't there; `evidence.txt` in it is what to read first.
        judged: What `chaos.checks.judged` found.
        command: Repeats the run, with its seed.
        cluster: The folder of the cluster, whose logs, traces and etcd data are copied. The data are whole if the
            members stand still or have ended; of running ones, a copy may be torn.
        problems: What else did not hold, one line each.
        parts: Which folders of the cluster's are copied.

    Returns:
        The folder.

    Raises:
        OSError: It can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join(report(judged, seed=seed, command=command, problems=problems))
    (folder / EVIDENCE).write_text(f"{text}\n", encoding="utf-8", errors="backslashreplace")
    write_history(folder / HISTORY, record.ledger.history, record.stamps)
    (folder / RECORD).write_bytes(msgspec.json.format(msgspec.json.encode(_told(record)), indent=2) + b"\n")
    for name in parts if cluster is not None else ():
        _copy(cluster / name, folder / name)  # type: ignore[operator]  # it is none for no name
    return folder


def report(
    judged: Mapping[str, Sequence[Violation]],
    *,
    seed: int,
    command: str,
    problems: Sequence[str] = (),
    most: int = 3,
) -> Iterator[str]:
    """The smallest evidence of each check that failed, `most` pieces of it, then how to repeat the run."""
    yield from problems
    for name, violations in judged.items():
        for violation in violations[:most]:
            yield f"check {name}: {violation.check}: {violation.message}"
            place = (
                ("revision", violation.revision),
                ("key", violation.key),
                ("token", violation.token),
                ("in force", violation.term_token),
                ("process", violation.identity),
            )
            told = ", ".join(f"{what} {value}" for what, value in place if value)
            if told:
                yield f"    {told}"
            yield from (f"    {fact}" for fact in violation.evidence)
        if len(violations) > most:
            yield f"check {name}: and {len(violations) - most} more"
    yield f"seed: {seed}"
    yield f"repeat: {command}"


def write_history(path: Path, history: History, stamps: Mapping[int, Stamp]) -> None:
    """One JSON object a line: first what the history is, then its baseline and its changes.

    Raises:
        OSError: It can't be written.
    """
    with path.open("wb") as out:
        head = _Head(history.prefix, history.from_revision, history.to_revision, len(history.baseline))
        for line in (head, *(_Line.of(change, stamps.get(change.revision)) for change in history.everything())):
            out.write(msgspec.json.encode(line) + b"\n")


def read_history(path: Path) -> tuple[History, dict[int, Stamp]]:
    """A history that was kept, and when the watch brought each revision.

    Raises:
        OSError: The file can't be read.
        msgspec.DecodeError: It holds something else.
    """
    with path.open("rb") as lines:
        head = msgspec.json.decode(next(lines, b""), type=_Head)
        told = [msgspec.json.decode(line, type=_Line) for line in lines]
    changes = tuple(line.change for line in told)
    stamps = {line.revision: Stamp(line.now, line.wall) for line in told if line.now is not None}
    baseline, after = changes[: head.baseline], changes[head.baseline :]
    return History(head.prefix, head.from_revision, head.to_revision, baseline, after), stamps


@dataclass(frozen=True, slots=True)
class _Head:
    prefix: str
    from_revision: int
    to_revision: int
    baseline: int


@dataclass(frozen=True, slots=True)
class _Line:
    """One change. The value is base64; null: deleted. `now` null: the watch did not bring it."""

    revision: int
    key: str
    created: int
    value: str | None
    now: float | None = None
    wall: float = 0.0

    @classmethod
    def of(cls, change: Change, stamp: Stamp | None) -> _Line:
        value = None if change.value is None else base64.b64encode(change.value).decode()
        now, wall = (None, 0.0) if stamp is None else (stamp.now, stamp.wall)
        return cls(change.revision, change.key, change.created, value, now, wall)

    @property
    def change(self) -> Change:
        value = None if self.value is None else base64.b64decode(self.value)
        return Change(self.key, self.revision, value, self.created)


def _told(record: Record) -> dict[str, Any]:
    """What is in no other file: the trace and log files hold the accounts."""
    return {
        "actions": record.actions,
        "exits": record.exits,
        "operations": record.operations,
        "gaps": record.gaps,
        "cut_off": record.cut_off,
        "timing": record.timing,
        "locks": record.locks,
        "until": record.until,
        "settled": record.settled,
        "slack": record.slack,
        "clock_errors": {account.identity: account.error for account in record.accounts},
    }


def _copy(source: Path, target: Path) -> None:
    """A folder, as far as it can be read: what vanishes meanwhile is passed over."""
    if source.is_dir():
        with suppress(shutil.Error):
            shutil.copytree(source, target, dirs_exist_ok=True, ignore_dangling_symlinks=True)
