"""`apply`, `get`, `delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click

from component.console import FAILED, note, say
from lockd.errors import ConfigError
from lockd.flags import connection_options
from replica.api.manifests import DEFAULT_NAMESPACE, read_manifests
from replica.api.times import format_time
from replica.ctl import deleting, options
from replica.ctl.applying import Applier
from replica.ctl.getting import find, not_found
from replica.ctl.output import failures
from replica.ctl.session import session
from replica.ctl.targets import Selection, select
from replica.ctl.views import View

if TYPE_CHECKING:
    from collections.abc import Sequence


@click.command()
@options.files
@options.recursive
@options.namespace
@options.dry_run
@connection_options
def apply(files: Sequence[str], *, recursive: bool, namespace: str | None, dry_run: bool, **connected: Any) -> None:
    """Create or update objects. All manifests are checked before anything is written."""
    if not files:
        raise click.UsageError("give manifests with -f FILE, -f DIR or -f -")
    with failures():
        drafts = read_manifests(files, stdin=options.stdin, namespace=namespace, recursive=recursive)
    with session("apply", **connected) as here:
        applier = Applier(here.store, new_uid=lambda: str(uuid4()), now=format_time(here.now))
        steps = applier.plan(drafts)
        for step in steps if dry_run else applier.run(steps):
            say(f"{step.draft.kind.qualified}/{step.draft.name} {step.verdict}{' (dry run)' if dry_run else ''}")


@click.command()
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


@click.command()
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
