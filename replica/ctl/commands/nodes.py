"""`cordon`, `uncordon`, `drain`, `taint`."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from component.console import TIMED_OUT, leave, note, say
from component.durations import DURATION
from lockd.flags import connection_options
from replica.api.kinds import NODE
from replica.ctl import options
from replica.ctl.draining import Allowed
from replica.ctl.editing import edit
from replica.ctl.evicting import Drain, DrainTimedOut
from replica.ctl.getting import find
from replica.ctl.output import counted, failures
from replica.ctl.session import session
from replica.ctl.tainting import TaintChange
from replica.ctl.targets import select

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replica.ctl.session import Session
    from replica.ctl.targets import Selection

NODES = click.argument("nodes", nargs=-1, metavar="NODE...")


def _chosen(nodes: Sequence[str], selector: str | None) -> Selection:
    if bool(nodes) == (selector is not None):
        raise click.UsageError("either name nodes or say -l SELECTOR")
    with failures():
        return select(["nodes", *(node.removeprefix("node/").removeprefix("nodes/") for node in nodes)], selector)


def _names(here: Session, selection: Selection) -> list[str]:
    """The nodes of a selection; exits where there is none."""
    (target,) = selection.targets
    if target.names:
        return list(target.names)
    found = [each.object.name for each in find(here.store, target, "", selection.matches).objects]
    if not found:
        note("No resources found")
    return found


def _mark(here: Session, names: Sequence[str], *, cordon: bool, dry_run: bool) -> None:
    """Cordon nodes, or end it."""

    def change(manifest: dict[str, Any]) -> dict[str, Any] | None:
        spec = dict(manifest.get("spec") or {})
        if bool(spec.get("unschedulable")) == cordon:
            return None
        spec.pop("unschedulable", None)
        return {**manifest, "spec": {**spec, "unschedulable": True} if cordon else spec}

    word = "cordoned" if cordon else "uncordoned"
    for name in names:
        changed = edit(here.store, NODE, name, change, dry_run=dry_run)
        say(f"node/{name} {'' if changed else 'already '}{word}{' (dry run)' if dry_run else ''}")


def _marking(name: str, text: str, *, cordon: bool) -> click.Command:
    @click.command(name, help=text)
    @NODES
    @options.selector
    @options.dry_run
    @connection_options
    def mark(nodes: Sequence[str], *, selector: str | None, dry_run: bool, **connected: Any) -> None:
        selection = _chosen(nodes, selector)
        with session(name, **connected) as here:
            _mark(here, _names(here, selection), cordon=cordon, dry_run=dry_run)

    return mark


cordon = _marking("cordon", "Mark nodes as unschedulable.", cordon=True)
uncordon = _marking("uncordon", "Mark nodes as schedulable again.", cordon=False)


@click.command()
@NODES
@options.selector
@options.dry_run
@click.option("--ignore-daemonsets", is_flag=True, help="Leave pods that a DaemonSet made.")
@click.option("--delete-emptydir-data", is_flag=True, help="Evict pods with emptyDir volumes too.")
@click.option("--force", is_flag=True, help="Evict pods that no controller would make anew.")
@click.option("--disable-eviction", is_flag=True, help="Don't ask disruption budgets.")
@click.option("--pod-selector", metavar="SELECTOR", help="Evict only pods with these labels.")
@click.option("--grace-period", type=int, default=-1, help="Accepted; no kubelet is here to wait: pods go at once.")
@click.option(
    "--timeout", type=DURATION, default=0.0, help="Give up after so long, with exit code 3.  [default: never]"
)
@connection_options
def drain(
    nodes: Sequence[str],
    *,
    selector: str | None,
    dry_run: bool,
    ignore_daemonsets: bool,
    delete_emptydir_data: bool,
    force: bool,
    disable_eviction: bool,
    pod_selector: str | None,
    grace_period: int,  # noqa: ARG001 - see its help
    timeout: float,
    **connected: Any,
) -> None:
    """Cordon nodes, then evict their pods, as disruption budgets allow."""
    selection = _chosen(nodes, selector)
    with failures():
        of_pods = select(["pods"], pod_selector)
    allowed = Allowed(ignore_daemon_sets=ignore_daemonsets, delete_local_data=delete_emptydir_data, force=force)
    with session("drain", **connected) as here:
        names = _names(here, selection)
        _mark(here, names, cordon=True, dry_run=dry_run)
        until = here.clock.now() + timeout if timeout else None
        work = Drain(here.store, allowed, respect=not disable_eviction, matches=of_pods.matches, warn=note)
        for name in names:
            if dry_run:
                for pod in work.plan(name):
                    say(f"evicting pod {pod.object.path} (dry run)")
                say(f"node/{name} drained (dry run)")
                continue
            try:
                _empty(here, work, name, until)
            except DrainTimedOut as error:
                leave((str(error),), TIMED_OUT)
            say(f"node/{name} drained")


def _empty(here: Session, work: Drain, name: str, until: float | None) -> None:
    told: set[str] = set()
    gone = 0
    with counted(f"drain {name}", len(work.plan(name))) as progress:
        for each in work.run(name, clock=here.clock, stop=threading.Event(), until=until):
            path = each.pod.object.path
            if not each.budget:
                say(f"pod/{each.pod.object.name} evicted")
                gone += 1
                progress(gone)
            elif path not in told:
                told.add(path)
                note(f"cannot evict pod {path}: it would violate disruption budget {each.budget} (will retry)")


@click.command()
@click.argument("words", nargs=-1, metavar="nodes NODE... KEY=VALUE:EFFECT|KEY:EFFECT|KEY-...")
@options.selector
@click.option("--all", "everything", is_flag=True, help="All nodes.")
@click.option("--overwrite", is_flag=True, help="Replace taints of the same key and effect.")
@options.dry_run
@connection_options
def taint(
    words: Sequence[str],
    *,
    selector: str | None,
    everything: bool,
    overwrite: bool,
    dry_run: bool,
    **connected: Any,
) -> None:
    """Set taints of nodes, or remove them (with a - at the end)."""
    with failures():
        selection, change = _taints(words, selector, everything=everything)
    with session("taint", **connected) as here:
        for name in _names(here, selection):
            changed = edit(here.store, NODE, name, partial(change.on, overwrite=overwrite), dry_run=dry_run)
            said = change.verdict if changed else f"already {change.verdict}"
            say(f"node/{name} {said}{' (dry run)' if dry_run else ''}")


def _taints(words: Sequence[str], selector: str | None, *, everything: bool) -> tuple[Selection, TaintChange]:
    """What the words of `taint` name: nodes, then what has a colon, an equals sign or a `-` at its end."""
    if words and words[0].partition("/")[0].lower() not in {"node", "nodes", "no"}:
        raise click.UsageError(f'only nodes have taints: say taint nodes NODE..., not "{words[0]}"')
    first, _, slashed = words[0].partition("/") if words else ("", "", "")
    names = [slashed] if slashed else []
    rest = list(words[1:])
    while rest and not (":" in rest[0] or "=" in rest[0] or rest[0].endswith("-")):
        names.append(rest.pop(0).removeprefix(f"{first}/"))
    if not rest:
        raise click.UsageError("give a taint: KEY=VALUE:EFFECT, KEY:EFFECT, or KEY- to remove it")
    if (bool(names) + (selector is not None) + everything) != 1:
        raise click.UsageError("name nodes, or say -l SELECTOR, or --all")
    return select(["nodes", *names], selector), TaintChange.parse(rest)
