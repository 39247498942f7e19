"""`lockd serve`."""

from __future__ import annotations

import os
import signal
import socket
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from component import logs, metrics, tracing
from component.clock import SystemClock
from component.console import FAILED, USAGE, leave
from component.exit import leave as leave_process
from component.heed import heed
from component.listening import CannotListen
from lockd.daemon.config import ServeConfig
from lockd.daemon.listening import Address, Security, default_socket
from lockd.errors import ConfigError, LockdError
from lockd.flags import Usage, connection_options

if TYPE_CHECKING:
    from lockd.etcd.connection import Connection

SERVICE: Final = "lockd"
FLUSH: Final = 2.0
"""Seconds that spans and metrics may take at the end."""

SWITCH_INTERVAL: Final = 0.0005
"""Seconds after which a thread that computes lets another run: with hundreds of streams a renewal must not wait."""

_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option(
    "--listen",
    multiple=True,
    metavar="ADDRESS",
    help=f"unix:/PATH or HOST:PORT; may be given more than once.  [default: {default_socket()}]",
)
@click.option("--tls-cert-file", type=_FILE, default=None, help="Serve TCP by TLS, with this certificate.")
@click.option("--tls-private-key-file", type=_FILE, default=None, help="Its key.")
@click.option(
    "--client-ca-file", type=_FILE, default=None, help="Ask clients for a certificate of one of these authorities."
)
@click.option(
    "--insecure-listen", is_flag=True, help="Serve TCP beyond loopback without mutual TLS: anyone can take any lock."
)
@click.option("--max-streams", type=int, default=512, show_default=True, help="Campaigns and observers at once.")
@click.option(
    "--max-streams-per-peer",
    type=int,
    default=256,
    show_default=True,
    help="Of one client: a certificate's name, a host, or the unix socket.",
)
@click.option("--http-listen", default="", metavar="HOST:PORT", help="Serve /livez, /readyz and /metrics there.")
@click.option(
    "--logging-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Form of the log on stderr.",
)
@click.option("-v", "--v", "verbosity", type=click.IntRange(0, 10), default=0, show_default=True, help="Log level.")
@connection_options
def serve(connection: Connection, prefix: str, trace_file: Path | None, **flags: Any) -> None:
    """Serve locks by gRPC until asked to stop. Nothing is released by that: clients go on at another lockd."""
    from lockd.daemon.server import Daemon  # noqa: PLC0415 - what --help need not load

    clock = SystemClock()
    sys.setswitchinterval(SWITCH_INTERVAL)
    logs.setup(format=flags["logging_format"], verbosity=flags["verbosity"])
    instance = f"{socket.gethostname()}_{os.getpid()}"
    try:
        config = ServeConfig(
            connection=connection,
            prefix=prefix,
            listen=tuple(map(Address, flags["listen"] or (default_socket(),))),
            security=Security(
                cert=flags["tls_cert_file"], key=flags["tls_private_key_file"], client_ca=flags["client_ca_file"]
            ),
            insecure_listen=flags["insecure_listen"],
            max_streams=flags["max_streams"],
            max_streams_per_peer=flags["max_streams_per_peer"],
            http=flags["http_listen"],
        )
        spans = tracing.setup(service=SERVICE, instance=instance, trace_file=trace_file, clock=clock)
        numbers = metrics.setup(service=SERVICE, instance=instance, version=version("lockd"))
        daemon = Daemon(config, metrics=numbers, clock=clock)
        heed((signal.SIGTERM, signal.SIGINT), lambda _: daemon.request_stop())
        code = daemon.wait() if daemon.start() else 0
    except ConfigError as error:
        leave(error.problems, USAGE)
    except Usage as error:
        leave((error.format_message(),), USAGE)
    except (CannotListen, OSError, LockdError) as error:
        leave((str(error),), FAILED)
    steps = (("calls", lambda _: daemon.stop()), ("spans", spans.shutdown), ("metrics", numbers.shutdown))
    leave_process(code, steps=steps, bound=3 * FLUSH, clock=clock)
