"""A journal as Markdown, for a pull request or a job's summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.journal import rows
from component.tables import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chaos.journal.journal import Journal


def markdown(journal: Journal) -> str:
    """The whole document."""
    parts = [f"## {_cell(rows.title(journal))}", ""]
    for heading, lines in rows.failures(journal):
        parts += [f"**{_cell(heading)}**", "", *_fenced(lines), ""]
    for head, body in (
        (rows.STATISTICS_HEAD, rows.statistics(journal)),
        (rows.THEORY_HEAD, rows.theory(journal)),
        (rows.CHECK_HEAD, rows.checks(journal)),
    ):
        if body:
            parts += [*_table(head, body), ""]
    trials = rows.trials(journal)
    if trials:
        parts += ["<details><summary>Trials</summary>", "", *_table(rows.TRIAL_HEAD, trials), "", "</details>", ""]
    parts += [f"- {_cell(note)}" for note in rows.notes(journal)]
    return "\n".join(parts).rstrip() + "\n"


def _table(head: Sequence[str], body: Sequence[Sequence[str]]) -> list[str]:
    return [_row([name.capitalize() for name in head]), _row(["---"] * len(head)), *map(_row, body)]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    """Text that neither breaks a table nor is read as markup."""
    shown = one_line(text)
    for char in "\\`*_|<>":
        shown = shown.replace(char, f"\\{char}")
    return shown


def _fenced(lines: Sequence[str]) -> list[str]:
    shown = [one_line(line) for line in lines]
    fence = "```"
    while any(fence in line for line in shown):
        fence += "`"
    return [fence, *shown, fence]
