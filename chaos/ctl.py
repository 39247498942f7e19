"""The command `chaosctl`: clusters that can be hurt, and what is measured on them."""

from __future__ import annotations

from pathlib import Path

import click

from chaos import handoff, spans
from chaos.cluster import ending
from chaos.output import failures, note, output_option, show
from component.clock import SystemClock
from lockd.errors import ConfigError

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lockd")
def main() -> None:
    """Make clusters that can be hurt, hurt them, judge and measure what they do."""


@main.command()
@click.option("--dir", "folder", type=FOLDER, required=True, help="The folder that `chaosctl up` printed.")
def down(folder: Path) -> None:
    """Take down the cluster of a folder. Its logs and traces stay."""
    with failures():
        note(ending.take_down(folder, clock=SystemClock()))


@main.command()
@click.argument("folder", type=FOLDER)
@output_option
def trace(folder: Path, form: str) -> None:
    """Show each hand-off of the cluster in FOLDER as one timeline, out of the replicas' trace files."""
    with failures():
        if not any((folder / "trace").glob("*.jsonl")):
            problem = f"{folder}: no trace/*.jsonl here: name the folder that `chaosctl up` or `demo` printed"
            raise ConfigError((problem,))
        found = handoff.handoffs(spans.read_folder(folder / "trace"))
    lines = [line for number, each in enumerate(found, 1) for line in (*handoff.lines(each, number), "")]
    if not found:
        note("no hand-off in these traces: a leader has not been followed by another")
    show({"handoffs": [each.document() for each in found]}, form, lines[:-1])
