"""The command `chaosctl compare`, and how a run's journal is shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from chaos.finite import FiniteRange
from chaos.journal import journal as journals
from chaos.journal import terminal
from chaos.journal.junit import junit
from chaos.journal.markdown import markdown
from chaos.journal.thresholds import Threshold
from chaos.output import failures, output_option, show
from component import console
from component.console import CHECK_FAILED

if TYPE_CHECKING:
    from chaos.journal.journal import Journal

FORMS: Final = ("table", "json", "yaml", "junit", "markdown")

RATIO: Final = 1.2
"""How many times as long something may take before it is called a regression."""


class ThresholdType(click.ParamType[Threshold]):
    """A threshold such as `failover_ms.p99>500`."""

    name = "threshold"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Threshold:
        if isinstance(value, Threshold):
            return value
        try:
            return Threshold.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


fail_if_option = click.option(
    "--fail-if",
    "thresholds",
    type=ThresholdType(),
    multiple=True,
    metavar="METRIC.STATISTIC>LIMIT",
    help="Exit 4 if this holds, such as 'failover_ms.p99>500' (milliseconds). May be given again.",
)

form_option = click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(FORMS),
    default="table",
    show_default=True,
    help="Form of the output.",
)


def present(journal: Journal, form: str) -> None:
    """Show a journal on stdout in one of `FORMS`; a table with colour where a terminal takes it."""
    match form:
        case "junit":
            console.say(junit(journal), nl=False)
        case "markdown":
            console.say(markdown(journal), nl=False)
        case "table":
            if not terminal.show(journal):
                console.say("\n".join(terminal.lines(journal)))
        case _:
            console.show(journal.result(), form)


def write(journal: Journal, folder: Path) -> tuple[Path, ...]:
    """Write every form that a file is wanted of: `journal.json`, `junit.xml`, `report.md`.

    Raises:
        OSError: One can't be written.
    """
    texts = {"junit.xml": junit(journal), "report.md": markdown(journal)}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
    return (journal.write(folder), *(folder / name for name in texts))


@click.command("compare")
@click.argument("before", metavar="A", type=click.Path(exists=True, path_type=Path))
@click.argument("after", metavar="B", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--ratio",
    type=FiniteRange(min=1.0),
    default=RATIO,
    show_default=True,
    help="How many times as long B may take.",
)
@output_option
def compare_command(*, before: Path, after: Path, ratio: float, form: str) -> None:
    """Hold the journal B against the journal A. Exit 4 if B is slower by more than the ratio and than chance.

    A and B are journal.json files, folders that hold one, or what `chaosctl run -o json` printed.
    """
    from chaos.journal.comparison import compare  # noqa: PLC0415 - numpy takes time to load, and no other command needs it

    with failures():
        found = compare(journals.read(before), journals.read(after), ratio=ratio)
    show(found.document(), form, found.lines())
    if found.regressed:
        raise SystemExit(CHECK_FAILED)
