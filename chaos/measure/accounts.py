"""What the processes of a cluster told of themselves, out of its trace and log files, on the tool's clock."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from chaos import spans
from chaos.handoff import ACQUIRE, ANCHOR, RENEW
from chaos.measure import clocks
from chaos.measure.clocks import Bracket
from chaos.record import Account, LogLine

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from chaos.history import Stamp
    from chaos.measure.clocks import ClockMap
    from chaos.spans import Span

STANDING_BY = "standing by"
"""The log line by which a replica tells its identity: from there on the lines of its file are its own."""


def gather(
    traces: Path,
    logs: Path | None,
    stamps: Mapping[int, Stamp],
    *,
    shifted: Mapping[str, Collection[float]] = MappingProxyType({}),
) -> tuple[Account, ...]:
    """Every process's account, by name.

    Args:
        traces: The folder of `<name>.<number>.jsonl`.
        logs: The folder of `<name>.log`, JSON lines; None: there are none.
        stamps: When the auditing watch brought each revision: what both clocks are measured by.
        shifted: Seconds by which faults had set a wall clock ahead at times, by the name of whose it is.

    Raises:
        OSError: A file can't be read.
    """
    base = clocks.shared(stamps.values())
    if base is None:
        return ()
    told, names = _traces(traces)
    lines = _logs(logs) if logs is not None else {}
    seen = {revision: stamp.now for revision, stamp in stamps.items()}
    brackets = {identity: tuple(_brackets(each, seen)) for identity, each in told.items()}
    steps = {identity: shifted.get(names[identity], ()) for identity in told}
    own = {identity for identity, each in brackets.items() if steps[identity] or clocks.refuted(base, each)}
    lag = clocks.lag(base, [bracket for identity, each in brackets.items() if identity not in own for bracket in each])

    def clock_of(identity: str) -> ClockMap | None:
        if identity not in own:
            return base
        found = brackets[identity]
        set_by = clocks.stepped(base, found, steps[identity]) if steps[identity] else None
        return set_by or clocks.measured(found, lag)

    return tuple(
        _account(identity, names.get(identity, ""), told.get(identity, []), lines.get(identity, []), clock)
        for identity in sorted({*told, *lines}, key=lambda identity: (names.get(identity, ""), identity))
        if (clock := clock_of(identity)) is not None
    )


def _traces(folder: Path) -> tuple[dict[str, list[Span]], dict[str, str]]:
    """Spans by identity, in the order of their files, and the names of those identities."""
    told: defaultdict[str, list[Span]] = defaultdict(list)
    names: dict[str, str] = {}
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8", errors="replace") as lines:
            for span in spans.parse(lines):
                told[span.instance].append(span)
                names[span.instance] = path.name.partition(".")[0]
    return dict(told), names


def _logs(folder: Path) -> dict[str, list[LogLine]]:
    """Log lines by identity, their moments still wall seconds."""
    found: dict[str, list[LogLine]] = {}
    for path in sorted(folder.glob("*.log")):
        identity = ""
        with path.open(encoding="utf-8", errors="replace") as lines:
            for line in _lines(lines):
                if line.event == STANDING_BY:
                    identity = str(line.fields.get("identity", ""))
                if identity:
                    found.setdefault(identity, []).append(line)
    return found


def _lines(texts: Iterable[str]) -> Iterator[LogLine]:
    """What is a log line; a traceback, or the torn end of a killed process, is passed over."""
    for text in texts:
        try:
            told: dict[str, Any] = json.loads(text)
            at = datetime.fromisoformat(told.pop("ts")).timestamp()
            yield LogLine(at=at, level=str(told.pop("level")), event=str(told.pop("event")), fields=told)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue


def _brackets(told: Iterable[Span], seen: Mapping[int, float]) -> Iterator[Bracket]:
    """The commits of a process that the watch brought: its renewals, and its acquires with the term that they began."""
    acquire: Span | None = None
    for span in told:
        if span.name == ACQUIRE:
            acquire = span
        elif span.name == RENEW and (at := seen.get(span.attributes.get("revision", 0))) is not None:
            yield Bracket(span.start, span.end, at)
        elif span.name == ANCHOR and acquire is not None:
            at = seen.get(span.attributes.get("token", 0))
            if at is not None:
                yield Bracket(acquire.start, acquire.end, at)


def _account(identity: str, name: str, told: list[Span], lines: list[LogLine], clock: ClockMap) -> Account:
    mapped = (replace(span, start=clock.ours(span.start), end=clock.ours(span.end)) for span in told)
    return Account(
        identity=identity,
        name=name,
        spans=tuple(sorted(mapped, key=lambda span: (span.start, span.end))),
        lines=tuple(replace(line, at=clock.ours(line.at)) for line in lines),
        error=clock.error,
    )
