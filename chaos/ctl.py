"""The command `chaosctl`: clusters that can be hurt, and what is measured on them."""

from __future__ import annotations

import contextlib
import secrets
import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from chaos import summary
from chaos.auditing import audited
from chaos.bench.commands import bench_command
from chaos.cluster import ending, launch
from chaos.cluster.plan import FAST, Plan
from chaos.cluster.supervisor import supervise
from chaos.demo import run
from chaos.faults.equipment import equipped
from chaos.faults.fault import Need
from chaos.finite import FiniteRange
from chaos.hurt.command import hurt_command
from chaos.journal.commands import compare_command
from chaos.output import failures, output_option, show
from chaos.runner.commands import list_command, run_command, validate_command
from chaos.stopping import stop_by_signal
from chaos.streaming import Stream
from chaos.trace import trace
from component import logs
from component.clock import SystemClock
from component.console import CHECK_FAILED, OneLineGroup, note, say
from component.durations import DURATION
from component.progress import progress
from lockd.flags import DEFAULT_PREFIX, PREFIX, connection_options
from lockd.session import session

if TYPE_CHECKING:
    from chaos.cluster.health import Health
    from lockd.etcd.connection import Connection

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group("chaosctl", cls=OneLineGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lockd")
def main() -> None:
    """Make clusters that can be hurt, hurt them, judge and measure what they do."""


@main.command()
@click.option("--etcd", "members", type=click.Choice(["1", "3"]), default="3", show_default=True, help="etcd members.")
@click.option("--replicas", type=click.IntRange(1, 50), default=3, show_default=True, help="Replicas.")
@click.option("--fast", is_flag=True, help="Leases of 3 s in place of 15 s.")
@click.option("--dir", "folder", type=FOLDER, help="Where all of it lies; by default a new folder for temporary files.")
@click.option("--prefix", type=PREFIX, default=DEFAULT_PREFIX, show_default=True, help="Where all keys are.")
@click.option("--lockd", "daemons", type=click.IntRange(0, 50), default=0, show_default=True, help="Lock services.")
@click.option("--proxied", is_flag=True, help="Let all of them talk through links that can be cut and slowed down.")
@click.option("--clocks", is_flag=True, help="Let the replicas' wall clocks be shifted; takes a C compiler.")
@click.option("--collector", is_flag=True, help="Let the replicas send telemetry to where a collector may hang.")
@click.option("--detach", is_flag=True, help="Return once the cluster is healthy; it lives on.")
@click.option("--no-restart", is_flag=True, help="Leave a replica that has ended ended.")
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
def up(
    *,
    members: str,
    replicas: int,
    fast: bool,
    folder: Path | None,
    prefix: str,
    daemons: int,
    proxied: bool,
    clocks: bool,
    collector: bool,
    detach: bool,
    no_restart: bool,
    flags: tuple[str, ...],
) -> None:
    """Make a cluster of real etcd members, replicas and lock services, and keep it until Ctrl-C or `chaosctl down`.

    What follows `--` are FLAGS for `replica run`. With --detach the cluster's folder is printed on stdout.
    """
    place, left = _place(folder, "lockd-")
    plan = Plan(
        folder=place,
        prefix=prefix,
        members=int(members),
        replicas=replicas,
        restart=not no_restart,
        flags=(*(FAST if fast else ()), *flags),
        daemons=daemons,
        proxied=proxied,
    )
    wanted = {Need.CLOCKS: clocks, Need.COLLECTOR: collector}
    try:
        with failures():
            plan = equipped(plan, [need for need, asked in wanted.items() if asked])
            if detach:
                _detach(plan)
            else:
                supervise(plan, stop_by_signal(), tell=note)
    except BaseException:
        if folder is None:  # nobody has named it so far
            with contextlib.suppress(OSError):
                place.rmdir()
            if place.exists():
                note(left)
        raise


@main.command()
@click.option("--dir", "folder", type=FOLDER, required=True, help="The folder that `chaosctl up` printed.")
def down(folder: Path) -> None:
    """Take down the cluster of a folder. Its logs and traces stay."""
    with failures():
        note(ending.take_down(folder, clock=SystemClock()))


@main.command()
@connection_options
@click.option(
    "--wait",
    type=DURATION,
    help="Until no pod is lost, or pending though a node takes it; one that is so at the end is a violation.",
)
@output_option
def audit(*, connection: Connection, prefix: str, trace_file: Path | None, wait: float | None, form: str) -> None:
    """Judge etcd's whole history: every term, every write, every bind. Exit 4 unless all was there and right."""
    with session("chaosctl", "audit", connection, prefix, trace_file) as here:
        report = audited(here.gateway, prefix, wait=wait, clock=here.clock)
    show(report.document(), form, report.lines())
    if not report.passed:
        raise SystemExit(CHECK_FAILED)


@main.command()
@click.option("--fast/--defaults", default=True, help="Leases of 3 s (the default), or of 15 s as in production.")
@click.option("--dir", "folder", type=FOLDER, help="Where all of it lies; by default a new folder for temporary files.")
@click.option("--keep", is_flag=True, help="Leave the cluster running.")
@output_option
def demo(*, fast: bool, folder: Path | None, keep: bool, form: str) -> None:
    """Show two hand-offs on a real cluster: the leader is asked to end, then the next one is killed."""
    folder, left = _place(folder, "lockd-demo-")
    plan = Plan(folder=folder, flags=FAST if fast else ())
    try:
        with failures(), progress() as told:
            outcome = run(plan, told, stop_by_signal(), keep=keep)
    except BaseException:
        note(left)
        raise
    show(summary.document(outcome, folder), form, summary.lines(outcome, folder))
    if keep:
        note(f"the cluster goes on: take it down with: chaosctl down --dir {shlex.quote(str(folder))}")
    note(left)
    if not outcome.report.passed:
        raise SystemExit(CHECK_FAILED)


@main.command()
@connection_options
@click.option("--nodes", type=click.IntRange(1, 5000), default=10, show_default=True, help="Nodes to create first.")
@click.option("--rate", type=FiniteRange(0.01, 100), default=5.0, show_default=True, help="Pods in a second.")
@click.option("--keep", type=click.IntRange(0, 50000), default=500, show_default=True, help="Bound pods that stay.")
def stream(*, connection: Connection, prefix: str, trace_file: Path | None, nodes: int, rate: float, keep: int) -> None:
    """Keep a cluster busy: create nodes, then pods until Ctrl-C, deleting the oldest bound ones."""
    stop = stop_by_signal()
    logs.setup(format="text", verbosity=0)
    with session("chaosctl", "stream", connection, prefix, trace_file) as here:
        name = secrets.token_hex(3)
        Stream(here.gateway, prefix, name=name, nodes=nodes, rate=rate, keep=keep, clock=here.clock).run(stop)


def _place(given: Path | None, prefix: str) -> tuple[Path, str]:
    """The folder of a cluster, a new one if none was given, and the line that says what is left there."""
    folder = (given or Path(tempfile.mkdtemp(prefix=prefix))).absolute()
    # a folder that was given may hold more than ours
    remove = "" if given is not None else f": remove them with: rm -r {shlex.quote(str(folder))}"
    return folder, f"logs and traces are left in {folder}{remove}"


def _detach(plan: Plan) -> None:
    """Start a supervisor, wait until its cluster is healthy, and print its folder; on failure take it down."""
    supervisor = launch.launch(plan, leashed=False)
    try:
        with progress() as told:

            def healthy(health: Health) -> None:
                told(f"start {plan.members} etcd members and {plan.replicas} replicas", health.parts, health.of)

            state = launch.await_health(plan, supervisor, stop_by_signal(), progress=healthy)
    except BaseException:
        supervisor.end(clock=SystemClock())
        raise
    endpoints, traces = shlex.quote(",".join(state.endpoints)), shlex.quote(str(plan.traces))
    note(f"use it: export ETCDCTL_ENDPOINTS={endpoints} LOCKD_PREFIX={shlex.quote(plan.prefix)} LOCKD_TRACES={traces}")
    note(f"take it down: chaosctl down --dir {shlex.quote(str(plan.folder))}")
    say(str(plan.folder))


main.add_command(bench_command(stop_by_signal))
main.add_command(compare_command)
main.add_command(hurt_command(stop_by_signal))
main.add_command(run_command(stop_by_signal))
main.add_command(list_command)
main.add_command(validate_command)
main.add_command(trace)
