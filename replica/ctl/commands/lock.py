"""`list`, `history`, `switchover`: the replicas of a lock, as patronictl shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from component.console import FAILED, TIMED_OUT, leave, note, say
from component.durations import DURATION
from component.tables import boxed, table
from lockd.flags import connection_options
from lockd.ports import LockName
from lockd.status import HISTORY_HEADERS, history_rows, read_history
from replica.api.names import name_problem
from replica.ctl import options
from replica.ctl.members import HEADERS, read_members
from replica.ctl.output import show
from replica.ctl.session import session
from replica.ctl.switching import Wish, ask, await_successor

if TYPE_CHECKING:
    from collections.abc import Callable


def _lock_options(command: Callable[..., None]) -> Callable[..., None]:
    """Which lock."""
    name = options.NameType(name_problem)
    space = click.option(
        "-n", "--namespace", type=name, default="kube-system", show_default=True, help="Namespace of the lock."
    )
    named = click.option("--name", type=name, default="kube-scheduler", show_default=True, help="Name of the lock.")
    return space(named(command))


@click.command("list")
@_lock_options
@options.form("json", "yaml")
@connection_options
def list_replicas(*, namespace: str, name: str, form: str, **connected: Any) -> None:
    """List the replicas: who leads, by which fencing token, and who stands by."""
    with session("list", **connected) as here:
        found = read_members(here.gateway, LockName(here.prefix, namespace, name), timeout=here.timeout)
        now = here.now
    if form != "table":
        show(found.document(), form)
        return
    if not found.members:
        note(f"No replicas found for {namespace}/{name} under {found.lock.prefix}")
        return
    title = f"Lock: {namespace}/{name} (transitions: {found.transitions})"
    for line in boxed(title, HEADERS, [member.row(now) for member in found.members]):
        say(line)


@click.command()
@_lock_options
@options.form("json", "yaml")
@connection_options
def history(*, namespace: str, name: str, form: str, **connected: Any) -> None:
    """Show the last terms, oldest first: who led, by which fencing token, and how each began and ended."""
    with session("history", **connected) as here:
        terms = read_history(here.gateway, LockName(here.prefix, namespace, name), timeout=here.timeout)
    if form != "table":
        show({"lock": f"{namespace}/{name}", "terms": terms}, form)
    elif terms:
        say("\n".join(table(HISTORY_HEADERS, history_rows(terms))))
    else:
        note(f"No terms found for {namespace}/{name} under {connected['prefix']}")


@click.command()
@_lock_options
@click.option("--candidate", default="", metavar="IDENTITY", help="Who is to lead: an identity, or how one begins.")
@click.option("--timeout", type=DURATION, default=60.0, help="Until it gives up waiting.  [default: 1m]")
@connection_options
def switchover(*, namespace: str, name: str, candidate: str, timeout: float, **connected: Any) -> None:
    """Have the leader finish and hand the lease over, and wait until the new leader stands."""
    with session("switchover", **connected) as here:
        lock = LockName(here.prefix, namespace, name)
        wish = Wish.of(read_members(here.gateway, lock, timeout=here.timeout), candidate)
        ask(here.gateway, lock, wish, timeout=here.timeout, clock=here.clock)
        note(f"asked {wish.leader} (token {wish.token}) to hand over to {wish.candidate or 'anyone that stands by'}")
        leader = await_successor(here.gateway, lock, wish, within=timeout, timeout=here.timeout, clock=here.clock)
    if leader is None:
        late = f"no new leader stands after {timeout:g} s; {wish.leader} may still hand over (see replicactl list)"
        leave((late,), TIMED_OUT)
    if wish.candidate not in {"", leader.identity}:
        leave((f"{leader.identity} leads (token {leader.token}), not {wish.candidate}, which was asked for",), FAILED)
    say(f"{leader.identity} leads (token {leader.token}), after {wish.leader} (token {wish.token})")
