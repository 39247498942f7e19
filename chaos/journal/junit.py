"""A journal as JUnit XML: one test case for each trial, check and threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chaos.journal.journal import Evidence, Journal


def junit(journal: Journal) -> str:
    """The whole document, with its declaration."""
    cases = tuple(_cases(journal))
    failures = str(sum(bool(problems) for _, _, problems in cases))
    total = {"tests": str(len(cases)), "failures": failures, "errors": "0", "time": f"{journal.seconds:.3f}"}
    root = ET.Element("testsuites", {"name": "chaosctl", **total})
    stamp = {"timestamp": journal.began} if journal.began else {}
    suite = ET.SubElement(root, "testsuite", {"name": journal.scenario, **total, "skipped": "0", **stamp})
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(journal):
        ET.SubElement(properties, "property", {"name": name, "value": value})
    for group, name, problems in cases:
        case = ET.SubElement(suite, "testcase", {"classname": f"{journal.scenario}.{group}", "name": name, "time": "0"})
        if problems:
            ET.SubElement(case, "failure", {"message": _clean(problems[0])}).text = _clean("\n".join(problems))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def evidence_lines(evidence: Sequence[Evidence]) -> list[str]:
    """Each piece: its message, then its facts, indented."""
    lines: list[str] = []
    for each in evidence:
        place = f" at revision {each.revision}" if each.revision else ""
        where = f" {each.key}:" if each.key else ""
        lines.append(f"{each.rule}{place}:{where} {each.message}")
        lines.extend(f"    {fact}" for fact in each.facts)
    return lines


def _cases(journal: Journal) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Group, name, and what did not hold."""
    for trial in journal.trials:
        yield "trials", f"trial {trial.number}: {trial.fault}", trial.problems or (() if trial.ok else ("it failed",))
    for check in journal.checks:
        yield "checks", check.name, () if check.ok else evidence_lines(check.evidence) or ("it failed",)
    for each in journal.thresholds:
        found = "nothing was measured" if each.value is None else f"it is {each.value:g}"
        yield "thresholds", each.threshold, () if each.ok else (f"{each.threshold}: {found}",)


def _properties(journal: Journal) -> Iterator[tuple[str, str]]:
    yield "backend", journal.backend
    yield "seed", str(journal.seed)
    if journal.command:
        yield "command", journal.command
    if journal.kept:
        yield "kept", journal.kept
    summary = journal.summary
    for name, told in (
        ("failover_ms", summary.failover_ms),
        ("first_bind_ms", summary.first_bind_ms),
        ("client_gap_ms", summary.client_gap_ms),
    ):
        for statistic, value in (("p50", told.p50), ("p90", told.p90), ("p99", told.p99), ("max", told.max)):
            if value is not None:
                yield f"{name}.{statistic}", f"{value:g}"


def _clean(text: str) -> str:
    """Without what XML 1.0 can't hold, even escaped."""
    return "".join(char if char in "\t\n" or char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
