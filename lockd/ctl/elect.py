"""`lockctl elect`: a command that runs only while the lock is held."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn
from uuid import uuid4

import click

from component import exit as leaving
from component import logs, tracing
from component.clock import SystemClock
from component.console import TIMED_OUT, leave, note
from component.durations import DURATION, format_duration
from lockd.config import ElectionConfig
from lockd.ctl.contender import NOT_EXECUTABLE, NOT_FOUND, Contender, Patience
from lockd.ctl.options import SERVICE, lock_name, namespace
from lockd.errors import PermissionDenied, StoreError
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness
from lockd.flags import connection_options, refuse_kubernetes
from lockd.ports import LockName
from lockd.session import FLUSH, failures

if TYPE_CHECKING:
    from component.clock import Clock
    from lockd.etcd.connection import Connection

SHORTEST: Final = 3.0
"""Seconds: below that a busy machine loses its lock for nothing."""

RETRY: Final = 1.0
"""Seconds between two attempts to reach etcd at the start."""


@click.command()
@lock_name
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD [ARGS]...")
@namespace
@click.option(
    "--ttl",
    type=DURATION,
    default="15s",
    show_default=True,
    help="The lease duration, at least 3s: how long after a crash others wait. The lock is renewed each 2/15 of it and "
    "given up 2/3 of it after the last renewal.",
)
@click.option("--try", "only_if_free", is_flag=True, help="Don't wait for a holder that is alive: exit code 3.")
@click.option("--timeout", type=DURATION, help="Wait for the lock no longer than this: exit code 3.")
@click.option(
    "--drain-timeout",
    type=DURATION,
    default="5s",
    show_default=True,
    help="What CMD has to end after its SIGTERM when the lock is asked back (`lockctl resign`).",
)
@click.option("-v", "--verbose", is_flag=True, help="Log to standard error what becomes of the lock.")
@connection_options
def elect(
    name: str,
    command: tuple[str, ...],
    *,
    namespace: str,
    ttl: float,
    only_if_free: bool,
    timeout: float | None,
    drain_timeout: float,
    verbose: bool,
    connection: Connection,
    prefix: str,
    trace_file: Path | None,
) -> None:
    """Run CMD only while the lock NAME is held, and end with its exit code.

    CMD finds LOCKD_FENCING_TOKEN, LOCKD_CLUSTER_ID, LOCKD_IDENTITY, LOCKD_LEADER and TRACEPARENT in its environment. It
    is to stay in the foreground: what it leaves behind is killed before the lock is given back. When the lock can't be
    renewed it gets SIGTERM, then SIGKILL before anybody else may hold it.

    Exit codes: CMD's own (128 + n when signal n ended it), 1 the lock was lost, 3 it was not to be had, 126 CMD is not
    executable, 127 CMD was not found.
    """
    if ttl < SHORTEST:
        raise click.BadParameter(f"{format_duration(ttl)} is too short: at least 3s", param_hint="'--ttl'")
    _refuse_command(command[0])
    clock, descriptors = SystemClock(), _inherited()
    began = clock.now()
    with failures():
        config = ElectionConfig(
            identity=f"{socket.gethostname()}_{uuid4()}",
            namespace=namespace,
            name=name,
            lease_duration=ttl,
            renew_deadline=ttl * 2 / 3,
            retry_period=ttl * 2 / 15,
            drain_timeout=drain_timeout,
            fenced=False,
        )
        logs.setup(verbosity=0 if verbose else -1)
        spans = tracing.setup(service=SERVICE, instance=config.identity, trace_file=trace_file, clock=clock)
        witness = Witness()
        gateway = Gateway(connection, purpose="election", witness=witness, clock=clock)
        until = None if timeout is None else began + timeout
        with tracing.attached(tracing.caller()):
            _reach_etcd(gateway, prefix, until=until, insist=not only_if_free, clock=clock)
    watchdog = leaving.Watchdog(clock, stacks=verbose)
    contender = Contender(
        config,
        LockName(prefix, namespace, name),
        gateway,
        command,
        patience=Patience(only_if_free, until, connection.command_timeout),
        cluster=lambda: witness.cluster,
        descriptors=descriptors,
        watchdog=watchdog,
        clock=clock,
    )
    outcome = contender.run()
    for line in outcome.told:
        note(f"error: {line}")
    steps = (
        ("candidate", contender.revoke),
        ("spans", spans.shutdown),
        ("etcd", lambda _: gateway.close()),
    )
    bound = FLUSH if outcome.harmless else max(0.05, outcome.since + config.exit_seconds - clock.now())
    leaving.leave(outcome.code, steps=steps, bound=bound, clock=clock, watchdog=watchdog)


def _refuse_command(program: str) -> None:
    """Say at once, before anything is asked of etcd, that there is nothing to run."""
    if shutil.which(program) is not None:
        return
    if "/" in program and Path(program).exists():
        leave((f"{program} can't be run: it is not an executable file",), NOT_EXECUTABLE)
    leave((f"{shlex.quote(program)} was not found: give a program on PATH, or its path",), NOT_FOUND)


def _inherited() -> tuple[int, ...]:
    """The descriptors beyond the standard ones that we were given, for the command."""
    found = []
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            if int(path.name) > 2 and os.get_inheritable(int(path.name)):
                found.append(int(path.name))
    return tuple(found)


def _reach_etcd(gateway: Gateway, prefix: str, *, until: float | None, insist: bool, clock: Clock) -> None:
    """Make sure that the prefix isn't Kubernetes'; wait for etcd if it is to be waited for.

    Raises:
        StoreError: etcd refuses us, or does not answer and isn't to be waited for.
        Usage: The prefix holds Kubernetes' data.
    """
    told = False
    while True:
        left = gateway.connection.command_timeout
        if until is not None:
            left = min(left, until - clock.now())
        try:
            return refuse_kubernetes(gateway, prefix, timeout=max(left, 0.01))
        except PermissionDenied:
            raise
        except StoreError as error:
            if not insist:
                raise
            if until is not None and clock.now() + RETRY >= until:
                _give_up(error)
            if not told:
                note(f"etcd does not answer, waiting for it: {error}")
            told = True
        clock.wait(threading.Event(), RETRY)


def _give_up(error: StoreError) -> NoReturn:
    leave((f"the lock was not to be had in time: {error}",), TIMED_OUT)
