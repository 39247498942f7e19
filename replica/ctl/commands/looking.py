"""`describe`, `events`, `wait`."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from component.console import FAILED, TIMED_OUT, leave, note, say
from component.durations import DURATION
from lockd.errors import ConfigError
from lockd.flags import connection_options
from replica.api.drafts import to_manifest
from replica.api.kinds import EVENT, NODE, POD
from replica.api.manifests import DEFAULT_NAMESPACE
from replica.ctl import deleting, options, pod_trace
from replica.ctl.completing import complete
from replica.ctl.describing import describe as lines_of
from replica.ctl.getting import Found, find, not_found
from replica.ctl.output import counted, failures
from replica.ctl.session import session
from replica.ctl.streams import Choice, Stream, watch
from replica.ctl.targets import Target, parse_targets, select
from replica.ctl.views import View
from replica.ctl.waiting import Wish

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from replica.ctl.getting import Stored
    from replica.ctl.session import Session

TRACES: Final = "LOCKD_TRACES"
"""The environment variable that names trace files and folders, as PATH does."""

STEP: Final = 0.2
"""Seconds between two looks of `wait`, unless a look takes long itself."""


@click.command()
@click.argument("words", nargs=-1, metavar="TYPE[,TYPE] [NAME]... | TYPE/NAME...")
@options.namespace
@options.everywhere
@options.selector
@click.option("--show-events/--hide-events", default=True, help="With the events of each object.  [default: show]")
@click.option("--trace", "traced", is_flag=True, help="With the story of each pod, out of the replicas' trace files.")
@click.option(
    "--traces",
    multiple=True,
    envvar=TRACES,
    type=click.Path(exists=True, path_type=Path),
    metavar="FILE|FOLDER",
    help="For --trace: the replicas' trace files (OTLP JSON), or folders of them.",
)
@connection_options
def describe(
    words: Sequence[str],
    *,
    namespace: str | None,
    everywhere: bool,
    selector: str | None,
    show_events: bool,
    traced: bool,
    traces: tuple[Path, ...],
    **connected: Any,
) -> None:
    """Show all about objects: fields, conditions, events; of a node its pods and what they take."""
    with failures():
        selection = select(words, selector, everywhere=everywhere)
        spans = pod_trace.read(traces) if traced else ()
    space = "" if everywhere else namespace or DEFAULT_NAMESPACE
    with session("describe", **connected) as here:
        found = [
            complete(find(here.store, target, space, selection.matches), target, here.store, selection.matches)
            for target in selection.targets
        ]
        kinds = {each.kind for each in found if each.objects}
        pods = find(here.store, Target(POD), "").objects if NODE in kinds else ()
        of = "" if any(not kind.namespaced for kind in kinds) else space
        events = find(here.store, Target(EVENT), of).objects if show_events and kinds else ()
        now = here.now
    shown = [stored for each in found for stored in each.objects]
    for index, stored in enumerate(shown):
        if index:
            say("\n")
        say("\n".join(lines_of(stored, events=events, pods=pods, now=now)))
        if traced and stored.kind is POD:
            say("\n".join(pod_trace.lines(spans, stored.object.path, stored.object.uid)))
    problems = [problem for each in found for problem in each.problems]
    if not shown and not problems:
        note(f"No resources found in {space} namespace." if space else "No resources found")
    for problem in problems:
        note(problem)
    if problems:
        raise SystemExit(FAILED)


@click.command()
@options.namespace
@options.everywhere
@click.option("--for", "about", metavar="TYPE/NAME", help="Only events about this object.")
@click.option("--types", metavar="TYPE,...", help="Only events of these types: Normal, Warning.")
@options.watch
@options.no_headers
@options.form("wide", "json", "yaml", "name")
@connection_options
def events(
    *,
    namespace: str | None,
    everywhere: bool,
    about: str | None,
    types: str | None,
    watch: bool,
    no_headers: bool,
    form: str,
    **connected: Any,
) -> None:
    """Show events, oldest first."""
    with failures():
        wanted = _wanted(about, types)
    space = "" if everywhere else namespace or DEFAULT_NAMESPACE
    with session("events", **connected) as here:
        if watch:
            _watch_events(here, space, wanted, form, headers=not no_headers)
            return
        found = find(here.store, Target(EVENT), space)
        now = here.now
    chosen = Found(EVENT, tuple(filter(wanted, found.objects)), found.problems, found.revision)
    View(form=form, namespace=space, headers=not no_headers).show([chosen], now=now)


def _watch_events(here: Session, space: str, wanted: Callable[[Stored], bool], form: str, *, headers: bool) -> None:
    stream = Stream(kind=EVENT, form=form, namespaces=not space, headers=headers)
    watch(here, stream, space, Choice(wanted=wanted))


def _wanted(about: str | None, types: str | None) -> Callable[[Stored], bool]:
    """Which events `--for` and `--types` name.

    Raises:
        ConfigError: They name none that there can be.
    """
    kinds = {each.strip().lower() for each in types.split(",")} if types is not None else None
    if kinds is not None and not kinds <= {"normal", "warning"}:
        raise ConfigError((f'--types "{types}" names other types than Normal and Warning',))
    target: Target | None = None
    if about is not None:
        if "/" not in about:
            raise ConfigError((f'--for "{about}" is not TYPE/NAME, such as pod/web-1',))
        (target,) = parse_targets([about])

    def matches(stored: Stored) -> bool:
        event: Any = stored.object
        if kinds is not None and event.type.lower() not in kinds:
            return False
        return target is None or (event.regarding.kind, event.regarding.name) == (target.kind.kind, target.names[0])

    return matches


@click.command()
@click.argument("words", nargs=-1, metavar="TYPE NAME... | TYPE/NAME...")
@options.namespace
@options.selector
@options.field_selector
@click.option("--all", "everything", is_flag=True, help="All objects of the type in the namespace.")
@click.option(
    "--for",
    "wish",
    required=True,
    metavar="WHAT",
    help="delete, create, condition=NAME[=VALUE], jsonpath={PATH}[=VALUE].",
)
@click.option("--timeout", type=DURATION, default=30.0, help="Until it gives up, with exit code 3.  [default: 30s]")
@connection_options
def wait(
    words: Sequence[str],
    *,
    namespace: str | None,
    selector: str | None,
    fields: str | None,
    everything: bool,
    wish: str,
    timeout: float,
    **connected: Any,
) -> None:
    """Wait until objects are so; exit 3 if they aren't in time."""
    with failures():
        wanted = Wish.parse(wish)
        selection = select(words, selector, fields=fields)
        chosen = everything or selection.matches is not None or selection.fields is not None
        if any(target.names for target in selection.targets) == chosen:
            raise ConfigError(("either name objects, or say -l SELECTOR, --field-selector SELECTOR or --all",))
    space = namespace or DEFAULT_NAMESPACE
    with session("wait", **connected) as here:
        names = deleting.names_of(here.store, selection, space)
        if not names and not wanted.gone:
            leave(("no matching resources found",), FAILED)
        left = _wait(here, names, wanted, timeout)
    if left:
        late = "timed out waiting for the condition on"
        leave([f"{late} {kind.qualified_plural}/{name}" for kind, name, _ in left], TIMED_OUT)


def _wait(here: Session, names: Sequence[Any], wish: Wish, timeout: float) -> list[Any]:
    """Tell each object once it is so; those that aren't in time.

    An object that isn't there is an error at once, unless that is waited for, or its creation.
    """
    end = here.clock.now() + timeout
    left = list(names)
    creation = wish == Wish()
    with counted("wait", len(left)) as progress:
        while True:
            began = here.clock.now()
            still = []
            for victim in deleting.look(here.store, left):
                manifest: Mapping[str, Any] | None = None
                if victim.seen is not None:
                    manifest = to_manifest(victim.kind, victim.seen)
                if wish.holds(manifest):
                    say(f"{victim.kind.qualified}/{victim.name} {wish.met}")
                elif manifest is None and not creation:
                    note(not_found(victim.kind, victim.name))
                    raise SystemExit(FAILED)
                else:
                    still.append((victim.kind, victim.name, victim.namespace))
            left = still
            progress(len(names) - len(left))
            now = here.clock.now()
            if not left or now >= end:
                return left
            here.clock.wait(threading.Event(), min(max(STEP, 4 * (now - began)), max(0.0, end - now)))
