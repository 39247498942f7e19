"""The command `replicactl`: objects as kubectl handles them, replicas as patronictl lists them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click

from component.console import FAILED, OneLineGroup, note, say
from component.tables import boxed
from lockd.errors import ConfigError
from lockd.flags import connection_options
from lockd.ports import LockName
from replica.api.manifests import DEFAULT_NAMESPACE, read_manifests
from replica.api.names import name_problem
from replica.api.times import format_time
from replica.ctl import deleting, options
from replica.ctl.applying import Applier
from replica.ctl.getting import find, not_found
from replica.ctl.members import HEADERS, read_members
from replica.ctl.output import failures, show
from replica.ctl.session import session
from replica.ctl.targets import Selection, select
from replica.ctl.views import View

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.group("replicactl", cls=OneLineGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lockd")
def main() -> None:
    """Store pods, nodes and what else scheduling reads, look at them, and list the replicas that schedule."""


@main.command()
@options.files
@options.recursive
@options.namespace
@click.option(
    "--dry-run",
    type=click.Choice(("none", "client", "server")),
    is_flag=False,
    flag_value="server",
    default="none",
    show_default=True,
    help="Check everything and say what would be done; client and server are the same here.",
)
@connection_options
def apply(files: Sequence[str], *, recursive: bool, namespace: str | None, dry_run: str, **connected: Any) -> None:
    """Create or update objects. All manifests are checked before anything is written."""
    if not files:
        raise click.UsageError("give manifests with -f FILE, -f DIR or -f -")
    with failures():
        drafts = read_manifests(files, stdin=options.stdin, namespace=namespace, recursive=recursive)
    dry = dry_run != "none"
    with session("apply", **connected) as here:
        applier = Applier(here.store, new_uid=lambda: str(uuid4()), now=format_time(here.now))
        steps = applier.plan(drafts)
        for step in steps if dry else applier.run(steps):
            say(f"{step.draft.kind.qualified}/{step.draft.name} {step.verdict}{' (dry run)' if dry else ''}")


@main.command()
@click.argument("words", nargs=-1, metavar="TYPE[,TYPE] [NAME]... | TYPE/NAME...")
@options.namespace
@options.everywhere
@options.selector
@options.form("wide", "json", "yaml", "name")
@click.option("--no-headers", is_flag=True, help="Leave out the tables' headers.")
@connection_options
def get(
    words: Sequence[str],
    *,
    namespace: str | None,
    everywhere: bool,
    selector: str | None,
    form: str,
    no_headers: bool,
    **connected: Any,
) -> None:
    """Show objects: pods, nodes, events, namespaces, priorityclasses, podgroups, poddisruptionbudgets."""
    with failures():
        selection = select(words, selector, everywhere=everywhere)
    space = "" if everywhere else namespace or DEFAULT_NAMESPACE
    with session("get", **connected) as here:
        found = [find(here.store, target, space, selection.matches) for target in selection.targets]
        now = here.now
    View(form=form, namespace=space, headers=not no_headers, single=selection.single).show(found, now=now)


@main.command()
@click.argument("words", nargs=-1, metavar="[TYPE NAME... | TYPE/NAME...]")
@options.files
@options.recursive
@options.namespace
@options.selector
@click.option("--all", "everything", is_flag=True, help="All objects of the type in the namespace.")
@click.option("--ignore-not-found", is_flag=True, help="An object that isn't there is no failure.")
@connection_options
def delete(
    words: Sequence[str],
    *,
    files: Sequence[str],
    recursive: bool,
    namespace: str | None,
    selector: str | None,
    everything: bool,
    ignore_not_found: bool,
    **connected: Any,
) -> None:
    """Delete objects by name, by label, or those of manifests."""
    if bool(words) == bool(files):
        raise click.UsageError("either name objects (pods web-1) or give manifests with -f")
    selection, names = Selection(()), []
    with failures():
        if files:
            drafts = read_manifests(files, stdin=options.stdin, namespace=namespace, recursive=recursive)
            names = [(draft.kind, draft.name, draft.namespace) for draft in drafts]
        else:
            selection = _deletable(select(words, selector), everything=everything)
    with session("delete", **connected) as here:
        names += deleting.names_of(here.store, selection, namespace or DEFAULT_NAMESPACE)
        victims = deleting.look(here.store, names)
        for victim in deleting.delete(here.store, victims):
            say(f'{victim.kind.qualified} "{victim.name}" deleted')
    missing = [victim for victim in victims if victim.seen is None and not ignore_not_found]
    for victim in missing:
        note(not_found(victim.kind, victim.name))
    if missing:
        raise SystemExit(FAILED)
    if not victims:
        note("No resources found")


def _deletable(selection: Selection, *, everything: bool) -> Selection:
    """The selection, unless it takes a whole kind without having said so, or names what --all has said."""
    for target in selection.targets:
        if target.names and everything:
            raise ConfigError(("--all can't be given with names",))
        if not (target.names or everything or selection.matches):
            raise ConfigError((f"name the {target.kind.plural} to delete, or say -l SELECTOR or --all",))
    return selection


@main.command("list")
@click.option(
    "-n",
    "--namespace",
    type=options.NameType(name_problem),
    default="kube-system",
    show_default=True,
    help="Namespace of the lock.",
)
@click.option(
    "--name",
    type=options.NameType(name_problem),
    default="kube-scheduler",
    show_default=True,
    help="Name of the lock.",
)
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
