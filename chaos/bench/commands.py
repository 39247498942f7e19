"""The command `chaosctl bench`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from chaos.bench import machine
from chaos.bench.catalogue import CATALOGUE, measure
from chaos.bench.result import table
from chaos.bench.rig import Bench
from chaos.output import failures, output_option, show
from component.clock import SystemClock
from component.progress import progress

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

PODS: Final = 20_000
"""Enough that starting and ending weigh little, few enough for a minute."""

MOST: Final = 100_000
"""As many as 1,000 nodes have room for, with some to spare."""


def bench_command(stop: Callable[[], threading.Event]) -> click.Command:
    """The command.

    Args:
        stop: Gives the event that Ctrl-C and its like set.
    """

    @click.command("bench")
    @click.argument("names", nargs=-1, metavar="[NAME]...", type=click.Choice(sorted(CATALOGUE)))
    @click.option("--list", "listing", is_flag=True, help="Tell which benchmarks there are, and end.")
    @click.option("--all", "everything", is_flag=True, help="All of them, one after the other.")
    @click.option("--runs", type=click.IntRange(1, 100), default=3, show_default=True, help="Of each.")
    @click.option(
        "--pods",
        type=click.IntRange(1, MOST),
        default=PODS,
        show_default=True,
        help="In a run, of the benchmarks that schedule.",
    )
    @click.option(
        "--dir",
        "folder",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Where clusters are made, each in a folder that is removed; by default among temporary files.",
    )
    @output_option
    def bench(
        *, names: tuple[str, ...], listing: bool, everything: bool, runs: int, pods: int, folder: Path | None, form: str
    ) -> None:
        """Measure NAME on clusters of real processes on this machine, beside what would be possible at most.

        It takes this machine for itself; nothing of it is left afterwards.
        """
        if listing:
            known = [
                {"name": one.name, "unit": one.unit, "what": one.what, "limit": one.limit} for one in CATALOGUE.values()
            ]
            width = max(map(len, CATALOGUE))
            show(known, form, [f"{one['name']:<{width}}   {one['what']} ({one['unit']})" for one in known])
            return
        chosen = tuple(CATALOGUE) if everything else names
        if not chosen:
            raise click.UsageError(f"name a benchmark, or give --all: {', '.join(CATALOGUE)}")
        with failures():
            machine.require(folder or Path(tempfile.gettempdir()))
            results = []
            for name in chosen:
                with progress() as told:
                    here = Bench(folder, pods, told, stop(), SystemClock())
                    results.append(measure(CATALOGUE[name], here, runs=runs))
        documents = [result.document() for result in results]
        show(documents if len(documents) > 1 else documents[0], form, table(results))

    return bench
