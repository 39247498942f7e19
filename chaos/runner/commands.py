"""The commands `chaosctl run`, `list` and `validate`."""

from __future__ import annotations

import secrets
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chaos.cluster.plan import FAST
from chaos.faults.errors import NotAvailable
from chaos.faults.registry import FAULTS, brief
from chaos.journal.commands import fail_if_option, form_option, present, write
from chaos.journal.rows import counted
from chaos.output import failures, output_option, show
from chaos.runner.choosing import backend_options
from chaos.runner.folders import folder_of
from chaos.runner.journaling import journal_of
from chaos.runner.order import Order
from chaos.runner.run import Run
from chaos.scenario import loading
from chaos.scenario.backends import BACKENDS, backends, reasons
from chaos.scenario.faults import Registered
from chaos.timing import Timing
from component.clock import SystemClock
from component.console import CHECK_FAILED, FAILED, USAGE, leave, note, say
from component.progress import progress
from component.tables import table
from lockd.errors import ConfigError
from lockd.record import display_time

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator

    from chaos.journal.thresholds import Threshold
    from chaos.runner.choosing import Chosen

SEEDS = 1_000_000
"""How many seeds are drawn from where none is given: few enough to be read out."""


@click.command("list")
@click.option("--tag", "tags", multiple=True, help="Only scenarios with this tag. May be given again.")
@click.option("--faults", is_flag=True, help="The faults that a scenario may name, in place of the scenarios.")
@output_option
def list_command(*, tags: tuple[str, ...], faults: bool, form: str) -> None:
    """List the scenarios that are shipped, each with what it teaches."""
    with failures():
        known = _known_faults() if faults else _known_scenarios(tags)
    rows = [tuple(str(cell) for cell in each.values() if not isinstance(cell, list)) for each in known]
    heads = ("FAULT", "AIMED AT", "WHAT IT DOES") if faults else ("NAME", "TRIALS", "RUNS ON", "WHAT IT TEACHES")
    lines = table(heads, rows)
    lines += [f"{each['name']}: not on {why}" for each in known for why in each.get("why_not", ())]
    show(known, form, lines)


@click.command("validate")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
def validate_command(files: tuple[Path, ...]) -> None:
    """Check scenarios of one's own; every problem of every FILE is told. Exit 2 if there is any."""
    bad = False
    for path in files:
        try:
            loading.read(path, Registered())
        except ConfigError as error:
            bad = True
            for problem in error.problems:
                note(f"error: {problem}")
        else:
            say(f"{path}: ok")
    if bad:
        raise SystemExit(USAGE)


def run_command(stop: Callable[[], threading.Event]) -> click.Command:
    """`chaosctl run`.

    Args:
        stop: Gives the event that Ctrl-C and its like set.
    """

    @click.command("run")
    @click.argument("name", metavar="NAME|FILE")
    @click.option("--trials", type=click.IntRange(1, 1000), help="How often; by default as the scenario says.")
    @click.option("--seed", type=click.IntRange(0), help="Decides what is left to chance; by default it is drawn.")
    @backend_options
    @click.option("--fast/--defaults", default=True, help="Leases of 3 s (the default), or of 15 s as in production.")
    @click.option(
        "--dir",
        "folder",
        type=click.Path(file_okay=False, path_type=Path),
        help="Where clusters, and what is kept, lie, and the journal goes; by default among temporary files.",
    )
    @click.option("--keep", is_flag=True, help="Keep history, logs and etcd's data even if all held.")
    @fail_if_option
    @form_option
    def command(
        *,
        name: str,
        trials: int | None,
        seed: int | None,
        chosen: Chosen,
        fast: bool,
        folder: Path | None,
        keep: bool,
        thresholds: tuple[Threshold, ...],
        form: str,
    ) -> None:
        """Run a scenario: NAME as `chaosctl list` tells, or a FILE of one's own.

        Makes a cluster, hurts it, heals it, and judges all of etcd's history. Exit 4 if a check, an expectation or a
        threshold did not hold; then history, logs and etcd's data are kept.
        """
        with failures():
            scenario = loading.load(name, Registered())
            if why := reasons(scenario, chosen.name):
                raise NotAvailable(f"{name} can't be run on {chosen.name}: {'; '.join(why)}")
            backend = chosen.backend()
            if unmet := chosen.unmet(scenario.configuration):
                raise NotAvailable(f"{name} asks for what the project is not made with: {'; '.join(unmet)}")
        seed = secrets.randbelow(SEEDS) if seed is None else seed
        trials = scenario.trials if trials is None else trials
        flags = FAST if fast else ()
        repeat = ["chaosctl", "run", name, f"--trials={trials}", f"--seed={seed}"]
        repeat += [*chosen.words(), "--fast" if fast else "--defaults"]
        repeat += [f"--fail-if={threshold.text}" for threshold in thresholds]
        with failures(), folder_of(folder, lingers=backend.lingers) as place, failures():
            order = Order(
                name=Path(name).stem,
                scenario=scenario,
                backend=backend,
                seed=seed,
                trials=trials,
                timing=Timing.of_flags(chosen.flags() or (*flags, *scenario.configuration.flags)),
                flags=flags,
                folder=place,
                keep=keep,
                thresholds=thresholds,
                command=shlex.join(repeat),
            )
            _run(order, stop(), form, given=folder is not None)

    return command


def _run(order: Order, stop: threading.Event, form: str, *, given: bool) -> None:
    """Run and show it; leaves with the code of a failed check."""
    clock = SystemClock()
    began, wall = clock.now(), display_time(clock.wall())
    order.folder.mkdir(parents=True, exist_ok=True)
    note(f"{order.name}: {counted(order.trials, 'trial')}, seed {order.seed}")
    try:
        with progress() as told:
            bouts = Run(order, clock=clock, stop=stop, told=told, tell=note).run()
    except NotAvailable as error:
        leave((f"{order.name} is left out: {error}",), FAILED)
    kept = order.keep or not all(bout.passed for bout in bouts)
    journal = journal_of(
        order, bouts, began=began, wall=wall, seconds=clock.now() - began, kept=str(order.folder) if kept else ""
    )
    if given or kept or not journal.passed:
        write(journal, order.folder)
    present(journal, form)
    if kept:
        note(f"what tells of it is in {order.folder}: journal, history, logs and traces; of local clusters etcd's data")
    elif not journal.passed:
        note(f"the journal is in {order.folder}")
    if not journal.passed:
        note(f"repeat it: {order.command}")
        raise SystemExit(CHECK_FAILED)


def _known_scenarios(tags: tuple[str, ...]) -> list[dict[str, Any]]:
    def all_of_them() -> Iterator[dict[str, Any]]:
        for name in loading.names():
            scenario = loading.load(name, Registered())
            if set(tags) <= set(scenario.tags):
                yield {
                    "name": name,
                    "trials": scenario.trials,
                    "backends": ", ".join(backends(scenario)),
                    "teaches": scenario.description,
                    "tags": list(scenario.tags),
                    "why_not": [f"{backend}: {why}" for backend in BACKENDS for why in reasons(scenario, backend)],
                }

    return list(all_of_them())


def _known_faults() -> list[dict[str, Any]]:
    return [
        {"name": name, "aims": ", ".join(sorted(kind.value for kind in fault.aims)) or "-", "what": brief(fault)}
        for name, fault in sorted(FAULTS.items())
    ]
