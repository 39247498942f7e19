"""`lockctl resign`: have the holder give the lock back."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import click

from component.console import FAILED, TIMED_OUT, leave, say
from component.durations import DURATION, format_duration
from lockd.ctl.options import SERVICE, lock_name, namespace
from lockd.flags import connection_options
from lockd.ports import LockName
from lockd.session import session
from lockd.switchover import await_end, wish

if TYPE_CHECKING:
    from pathlib import Path

    from lockd.etcd.connection import Connection


@click.command()
@lock_name
@namespace
@click.option(
    "--timeout",
    type=DURATION,
    default="30s",
    show_default=True,
    help="How long to wait until the term has ended: its holder may take its drain timeout.",
)
@connection_options
def resign(
    name: str, *, namespace: str, timeout: float, connection: Connection, prefix: str, trace_file: Path | None
) -> None:
    """Have whoever holds the lock NAME give it back, and wait until the term has ended.

    The holder ends as on SIGTERM. The wish names the present term's token: a later term is not concerned by it.
    """
    lock, stop = LockName(prefix, namespace, name), threading.Event()
    with session(SERVICE, "resign", connection, prefix, trace_file) as here:
        term = wish(here.gateway, lock, clock=here.clock, stop=stop, within=here.timeout)
        if term is None:
            leave((f"nobody holds {namespace}/{name} under {prefix}",), FAILED)
        ended = await_end(here.gateway, lock, term, clock=here.clock, stop=stop, within=timeout)
    if not ended:
        told = f"{term.holder} still holds {namespace}/{name} after {format_duration(timeout)}, by token {term.token}"
        leave((f"{told}: it ends when it sees the wish, or when its lease runs out",), TIMED_OUT)
    say(f"{namespace}/{name}: the term {term.token} of {term.holder} has ended")
