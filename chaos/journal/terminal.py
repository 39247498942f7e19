"""A journal for whoever looks at a terminal: plain lines, and colour where there is a terminal that takes it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from chaos.journal import rows
from component.tables import one_line, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.journal.journal import Journal


def lines(journal: Journal) -> list[str]:
    """All of it without colour; trials one by one where there are few, or where one failed."""
    told = [rows.title(journal), ""]
    for head, body in _tables(journal):
        told += [*table(head, body), ""]
    for heading, facts in rows.failures(journal):
        told += [f"FAILED: {one_line(heading)}", *(f"  {one_line(fact)}" for fact in facts), ""]
    return [*told, *map(one_line, rows.notes(journal))]


def show(journal: Journal) -> bool:
    """Draw it on stdout with colour, if that is a terminal and rich is there; else nothing is done.

    Returns:
        Was it drawn?
    """
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    try:
        from rich import box  # noqa: PLC0415 - in the extra `chaos`
        from rich.console import Console  # noqa: PLC0415
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415
    except ImportError:
        return False
    console = Console()
    console.print(Text(rows.title(journal), style="bold green" if journal.passed else "bold red"))
    for head, body in _tables(journal):
        drawn = Table(box=box.SIMPLE_HEAD)
        for name in head:
            drawn.add_column(name, justify="left" if name in (head[0], "FAULT", "TAKEOVER", "OK") else "right")
        for row in body:
            failed = row[-1] == rows.mark(ok=False)
            drawn.add_row(*(Text(one_line(cell)) for cell in row), style="red" if failed else "")
        console.print(drawn)
    for heading, facts in rows.failures(journal):
        console.print(Text(f"FAILED: {one_line(heading)}", style="bold red"))
        for fact in facts:
            console.print(Text(f"  {one_line(fact)}"))
    for note in rows.notes(journal):
        console.print(Text(one_line(note), style="dim"))
    return True


def _tables(journal: Journal) -> list[tuple[Sequence[str], Sequence[Sequence[str]]]]:
    few = len(journal.trials) <= FEW or not all(trial.ok for trial in journal.trials)
    found: list[tuple[Sequence[str], Sequence[Sequence[str]]]] = [
        (rows.TRIAL_HEAD, rows.trials(journal) if few else []),
        (rows.STATISTICS_HEAD, rows.statistics(journal)),
        (rows.THEORY_HEAD, rows.theory(journal)),
        (rows.CHECK_HEAD, rows.checks(journal)),
    ]
    return [(head, body) for head, body in found if body]


FEW = 10
"""Trials that are shown one by one."""
