"""The command `replica`: `replica run` and `replica healthcheck`."""

from __future__ import annotations

import gc
import signal
import ssl
import sys
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, Final

import click

from component import exit as leaving
from component import logs, metrics, tracing
from component.clock import SystemClock
from component.console import FAILED, USAGE, OneLineGroup, leave, say
from component.durations import DURATION
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


@click.group("replica", cls=OneLineGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lockd")
def main() -> None:
    """A scheduler replica: one of several leads and schedules, the others stand by."""


@main.command()
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
        numbers = metrics.setup(service=SERVICE, instance=identity)
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


@main.command()
@click.option("--address", default="127.0.0.1", show_default=True, help="Where the replica serves.")
@click.option("--secure-port", type=click.IntRange(1, 65535), default=10259, show_default=True, help="Its port.")
@click.option("--path", default="/readyz", show_default=True, help="What to ask: /livez, /readyz, /leader ...")
@click.option("--tls", is_flag=True, help="It serves TLS; its certificate is not checked.")
@click.option("--timeout", type=DURATION, default="2s", show_default=True, help="When to give up.")
def healthcheck(*, address: str, secure_port: int, path: str, tls: bool, timeout: float) -> None:
    """Ask a replica how it is, without curl: exit code 0 when it answers 200, else 1."""
    context = ssl._create_unverified_context() if tls else None  # noqa: S323, SLF001 - asks its own host only
    url = f"{'https' if tls else 'http'}://{address}:{secure_port}{path}"
    try:
        with urllib.request.urlopen(url, timeout=timeout, context=context) as answer:  # noqa: S310 - http or https
            say(answer.read(4096).decode(errors="replace").strip())
    except urllib.error.HTTPError as error:
        leave((f"{url} answered {error.code}: {error.read(4096).decode(errors='replace').strip()}",), FAILED)
    except (OSError, ValueError) as error:
        leave((f"{url} does not answer: {getattr(error, 'reason', error)}",), FAILED)
