"""`replica run`."""

from __future__ import annotations

import gc
import signal
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import click

from component import exit as leaving
from component import logs, metrics, tracing
from component.clock import SystemClock
from component.console import FAILED, USAGE, leave
from component.heed import heed
from component.listening import CannotListen
from lockd.errors import ConfigError, LockdError
from lockd.flags import Usage, connection_options
from replica.app.options import Options, given_flags, given_names, run_options

if TYPE_CHECKING:
    from pathlib import Path

    from lockd.etcd.connection import Connection
    from replica.app.config import ReplicaConfig

SERVICE: Final = "lockd-replica"

SWITCH_INTERVAL: Final = 0.0005
"""Seconds after which a thread that computes lets another run: a renewal must not wait for the scheduler."""

_log = logs.get("replica")

COLLECTOR: Final = (10_000, 20, 50)
"""When the garbage collector looks: what is made for a pod is freed by counting, and nearly all of it soon."""


@click.command()
@run_options
@connection_options
def run(connection: Connection, prefix: str, trace_file: Path | None, **flags: Any) -> None:
    """Run one replica until it is asked to stop (exit code 0) or loses the lease (exit code 1)."""
    # What other commands and --help need not load.
    from replica.app.config import complete  # noqa: PLC0415
    from replica.app.config_file import write  # noqa: PLC0415
    from replica.app.server import setup  # noqa: PLC0415

    clock = SystemClock()
    sys.setswitchinterval(SWITCH_INTERVAL)
    gc.set_threshold(*COLLECTOR)
    try:
        options = Options(**flags, given=given_names())
        config = complete(options, connection, prefix, trace_file, flags=given_flags())
    except ConfigError as error:
        leave(error.problems, USAGE)
    logs.setup(format=config.logging_format, verbosity=config.verbosity)
    _tell(config)
    if options.write_config_to is not None:
        try:
            write(config.scheduler, options.write_config_to)
        except OSError as error:
            leave((f"--write-config-to {options.write_config_to}: can't be written: {error.strerror}",), FAILED)
        return
    watchdog = leaving.Watchdog(clock)
    identity = config.election.identity
    try:
        spans = tracing.setup(service=SERVICE, instance=identity, trace_file=trace_file, clock=clock)
        numbers = metrics.setup(service=SERVICE, instance=identity, version=version("lockd"))
        replica = setup(config, numbers, watchdog=watchdog, clock=clock)
        heed((signal.SIGTERM, signal.SIGINT), lambda _: replica.request_stop())
        replica.listen()
        outcome = replica.run()
    except ConfigError as error:
        leave(error.problems, USAGE)
    except Usage as error:
        leave((error.format_message(),), USAGE)
    except (CannotListen, ValueError, OSError, LockdError) as error:
        leave((str(error),), FAILED)
    bound = max(0.05, outcome.since + config.election.exit_seconds - clock.now())
    steps = (*replica.leave_steps(), ("spans", spans.shutdown), ("metrics", numbers.shutdown))
    leaving.leave(outcome.code, steps=steps, bound=bound, clock=clock, watchdog=watchdog)


def _tell(config: ReplicaConfig) -> None:
    """What was given and what of it changes nothing."""
    if config.verbosity >= 1:
        for name, value in config.flags.items():
            _log.info(f'FLAG: --{name}="{value}"')
    for warning in config.warnings:
        _log.warning("configuration changes nothing", what=warning)
