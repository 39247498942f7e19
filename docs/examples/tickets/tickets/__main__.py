"""The command `tickets`: one replica of the service, until SIGTERM (exit code 0) or until it leads no more (1)."""

from __future__ import annotations

import signal
import socket
import uuid
from typing import TYPE_CHECKING

import click

from component import exit as leaving
from component import logs, tracing
from component.clock import SystemClock
from component.heed import heed
from lockd.config import ElectionConfig
from lockd.errors import ConfigError
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness
from lockd.flags import connection_options
from lockd.ports import LockName
from lockd.presence.config import PresenceConfig
from tickets.contender import Contender
from tickets.counter import Counter
from tickets.desk import serve

if TYPE_CHECKING:
    from pathlib import Path

    from lockd.etcd.connection import Connection


@click.command()
@click.option("--identity", default=lambda: f"{socket.gethostname()}_{uuid.uuid4()}", help="Unique to this process.")
@click.option("--listen", default="127.0.0.1:8080", show_default=True, metavar="HOST:PORT", help="For HTTP.")
@click.option("--presence-bind", default="127.0.0.1:0", show_default=True, help="Where the other replicas dial.")
@click.option("--presence-advertise", default="", help="What they dial, where that is another address.")
@click.option("--lease", default=15.0, show_default=True, help="Seconds that the others wait for a silent leader.")
@click.option("--renew", default=10.0, show_default=True, help="Seconds that a leader goes on without a renewal.")
@click.option("--retry", default=2.0, show_default=True, help="Seconds between two renewals.")
@connection_options
def main(  # noqa: PLR0917
    identity: str,
    listen: str,
    presence_bind: str,
    presence_advertise: str,
    lease: float,
    renew: float,
    retry: float,
    connection: Connection,
    prefix: str,
    trace_file: Path | None,
) -> None:
    """Give numbers for a queue, each once, as one of several replicas."""
    clock, witness = SystemClock(), Witness()
    logs.setup(format="json", verbosity=0)
    lock = LockName(prefix, "shop", "tickets")
    host, _, port = listen.rpartition(":")
    try:
        config = ElectionConfig(
            identity=identity,
            namespace=lock.namespace,
            name=lock.name,
            lease_duration=lease,
            renew_deadline=renew,
            retry_period=retry,
        )
        presence = PresenceConfig(bind=presence_bind, advertise=presence_advertise)
        spans = tracing.setup(service="tickets", instance=identity, trace_file=trace_file, clock=clock)
        contender = Contender(config, lock, presence, Gateway(connection, purpose="election", witness=witness), clock)
        counter = Counter(Gateway(connection, purpose="work", witness=witness), clock)
        heed((signal.SIGTERM, signal.SIGINT), lambda _: contender.request_stop())
        serve(host, int(port), contender, counter)
    except ConfigError as error:
        raise click.UsageError("; ".join(error.problems)) from error
    except (OSError, ValueError) as error:
        raise click.ClickException(f"--listen {listen}: {error}") from error
    stop = contender.run()
    leaving.leave(
        stop.exit_code,
        steps=(("candidate", contender.leave), ("spans", spans.shutdown)),
        bound=config.exit_seconds,
        clock=clock,
        watchdog=contender.watchdog,
    )


if __name__ == "__main__":
    main()
