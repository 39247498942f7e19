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
from replica.ctl import deleting, options, streams
from replica.ctl.applying import Applier
from replica.ctl.completing import complete
from replica.ctl.getting import find, not_found
from replica.ctl.jsonpath import JsonPath
from replica.ctl.output import counted, failures
from replica.ctl.session import session
from replica.ctl.streams import Choice, Stream
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
        with counted("apply", len(steps)) as progress:
            for done, step in enumerate(steps if dry_run else applier.run(steps), 1):
                say(f"{step.draft.kind.qualified}/{step.draft.name} {step.verdict}{' (dry run)' if dry_run else ''}")
                progress(done)


@click.command()
@click.argument("words", nargs=-1, metavar="TYPE[,TYPE] [NAME]... | TYPE/NAME...")
@options.namespace
@options.everywhere
@options.selector
@options.field_selector
@options.form("wide", "json", "yaml", "name")
@options.no_headers
@click.option("--sort-by", metavar="PATH", help="A field to sort by, such as .metadata.creationTimestamp.")
@click.option("--ignore-not-found", is_flag=True, help="An object that isn't there is no failure.")
@options.watch
@click.option("--watch-only", is_flag=True, help="The same, without the objects that there are.")
@click.option("--output-watch-events", is_flag=True, help="With -w and -o json or yaml: {type, object}.")
@connection_options
def get(
    words: Sequence[str],
    *,
    namespace: str | None,
    everywhere: bool,
    selector: str | None,
    fields: str | None,
    form: str,
    no_headers: bool,
    sort_by: str | None,
    ignore_not_found: bool,
    watch: bool,
    watch_only: bool,
    output_watch_events: bool,
    **connected: Any,
) -> None:
    """Show objects: pods, nodes, events, namespaces, priorityclasses, podgroups, poddisruptionbudgets."""
    with failures():
        selection = select(words, selector, everywhere=everywhere, fields=fields)
        order = JsonPath.parse(sort_by) if sort_by is not None else None
    space = "" if everywhere else namespace or DEFAULT_NAMESPACE
    following = watch or watch_only
    if following and len(selection.targets) > 1:
        raise click.UsageError("one resource type at a time can be watched")
    with session("get", **connected) as here:
        if following:
            (target,) = selection.targets
            stream = Stream(
                kind=target.kind,
                form=form,
                namespaces=not space,
                headers=not no_headers,
                events=output_watch_events,
            )
            choice = Choice(names=target.names, matches=selection.matches, fields=selection.fields)
            streams.watch(here, stream, space, choice, only_changes=watch_only)
            return
        found = [
            complete(
                find(here.store, target, space, selection.matches, selection.fields),
                target,
                here.store,
                selection.matches,
            )
            for target in selection.targets
        ]
        now = here.now
    if order is not None:
        found = [each.sorted(order) for each in found]
    if ignore_not_found:
        found = [each.without_missing() for each in found]
    View(form=form, namespace=space, headers=not no_headers, single=selection.single).show(found, now=now)


@click.command()
@click.argument("words", nargs=-1, metavar="[TYPE NAME... | TYPE/NAME...]")
@options.files
@options.recursive
@options.namespace
@options.selector
@click.option("--all", "everything", is_flag=True, help="All objects of the type in the namespace.")
@options.field_selector
@options.everywhere
@click.option("--ignore-not-found", is_flag=True, help="An object that isn't there is no failure.")
@click.option("-o", "--output", "form", type=click.Choice(("text", "name")), default="text", help="Form of the output.")
@click.option("--grace-period", type=int, default=-1, help="Accepted; no kubelet is here to wait: objects go at once.")
@click.option("--force", is_flag=True, help="The same.")
@click.option("--now", is_flag=True, help="The same.")
@options.dry_run
@connection_options
def delete(
    words: Sequence[str],
    *,
    files: Sequence[str],
    recursive: bool,
    namespace: str | None,
    selector: str | None,
    everything: bool,
    fields: str | None,
    everywhere: bool,
    ignore_not_found: bool,
    form: str,
    dry_run: bool,
    **connected: Any,
) -> None:
    """Delete objects by name, by label, or those of manifests."""
    for meaningless in ("grace_period", "force", "now"):
        del connected[meaningless]
    if bool(words) == bool(files):
        raise click.UsageError("either name objects (pods web-1) or give manifests with -f")
    selection, names = Selection(()), []
    with failures():
        if files:
            drafts = read_manifests(files, stdin=options.stdin, namespace=namespace, recursive=recursive)
            names = [(draft.kind, draft.name, draft.namespace) for draft in drafts]
        else:
            chosen = select(words, selector, everywhere=everywhere, fields=fields)
            selection = _deletable(chosen, everything=everything)
    with session("delete", **connected) as here:
        names += deleting.names_of(here.store, selection, "" if everywhere else namespace or DEFAULT_NAMESPACE)
        victims = deleting.look(here.store, names)
        present = [victim for victim in victims if victim.seen is not None]
        with counted("delete", len(present)) as progress:
            for done, victim in enumerate(present if dry_run else deleting.delete(here.store, victims), 1):
                dry = " (dry run)" if dry_run else ""
                name = f"{victim.kind.qualified}/{victim.name}"
                say(f"{name}{dry}" if form == "name" else f'{victim.kind.qualified} "{victim.name}" deleted{dry}')
                progress(done)
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
        if not (target.names or everything or selection.matches or selection.fields):
            raise ConfigError((f"name the {target.kind.plural} to delete, or say -l SELECTOR or --all",))
    return selection
