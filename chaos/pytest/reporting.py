"""What pytest shows of clusters: the timeline of a test that failed, the failovers that were measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.pytest.case import Case
    from chaos.pytest.session import Session

CASE: Final = pytest.StashKey["Case"]()
"""A test's own, while it has a cluster."""

SESSION: Final = pytest.StashKey["Session"]()
"""Of a config, once a test has asked for a cluster."""

EVIDENCE: Final = pytest.StashKey[list[str]]()
"""What is told of a cluster that has been ended because it was not well."""

TITLE: Final = "lockd cluster"
PROPERTY: Final = "ha_failover"
"""The property of a report, and of JUnit's XML, that tells a failover."""

MOST: Final = 20
"""Failovers that the summary tells."""


def report_failure(item: pytest.Item, report: pytest.TestReport) -> None:
    """Add the timeline to the report of what failed, and keep what shows it."""
    case, session = item.stash.get(CASE, None), item.config.stash.get(SESSION, None)
    if not report.failed or case is None or session is None:
        return
    told = item.stash.get(EVIDENCE, None)
    if told is None:
        told = evidence(case, session, f"{report.when} of {item.nodeid} failed: {_crash(report)}")
    report.sections.append((TITLE, "\n".join(told)))


def evidence(case: Case, session: Session, problem: str) -> list[str]:
    """What happened to a test's cluster, and where that is kept, for people.

    Args:
        problem: What failed, one line.
    """
    lines = list(case.lines())
    kept, trouble = session.keep(case, problem)
    lines.append(f"kept in {kept}: evidence.txt, history.jsonl, logs, traces" if kept else f"not kept: {trouble}")
    return lines


def summarize(reporter: pytest.TerminalReporter) -> None:
    """Tell the failovers that were measured in tests that passed."""
    told = list(_failovers(reporter))
    if told:
        reporter.section("failovers")
        for line in told[:MOST]:
            reporter.line(line)
        if len(told) > MOST:
            reporter.line(f"and {len(told) - MOST} more: --junitxml has them all")


def _failovers(reporter: pytest.TerminalReporter) -> Iterator[str]:
    for report in reporter.getreports("passed"):
        if report.when == "call":
            for name, value in report.user_properties:
                if name == PROPERTY:
                    yield f"{report.nodeid}: {value}"


def _crash(report: pytest.TestReport) -> str:
    """Why, in one line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr)
    return next((line for line in text.splitlines() if line.strip()), "nobody said why")
