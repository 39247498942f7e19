"""`import`: traces of other systems as nodes and pods."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import click

from component.console import note, say
from component.progress import progress
from lockd.flags import connection_options
from replica.api.manifests import DEFAULT_NAMESPACE
from replica.api.times import format_time
from replica.ctl import options
from replica.ctl.applying import Applier
from replica.ctl.imports.openb import read_trace
from replica.ctl.output import failures
from replica.ctl.session import session

if TYPE_CHECKING:
    from replica.ctl.applying import Step

FILE = click.Path(path_type=Path)


@click.group("import")
def import_trace() -> None:
    """Import nodes and pods from a trace of another system."""


@import_trace.command()
@click.option("--nodes", type=FILE, required=True, help="CSV: sn,cpu_milli,memory_mib,gpu,model.")
@click.option("--pods", type=FILE, required=True, help="CSV: name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos.")
@options.namespace
@options.dry_run
@connection_options
def openb(*, nodes: Path, pods: Path, namespace: str | None, dry_run: bool, **connected: Any) -> None:
    """Import the openb trace of a GPU cluster; its pods come as pending. Both files are checked before any write."""
    with failures():
        drafts = read_trace(nodes, pods, namespace=namespace or DEFAULT_NAMESPACE)
    with session("import", **connected) as here, progress(quietly=True) as told:
        applier = Applier(here.store, new_uid=lambda: str(uuid4()), now=format_time(here.now))
        steps = applier.plan(drafts)
        done: list[Step] = []
        try:
            for step in steps if dry_run else applier.run(steps):
                done.append(step)
                told("import", len(done), len(steps))
        except BaseException:
            written = sum(step.value is not None for step in done)
            note(f"{written} of {len(steps)} objects are known to be written: the same command again writes the rest")
            raise
    verdicts = Counter((step.draft.kind, step.verdict) for step in done)
    for (kind, verdict), count in verdicts.items():
        what = kind.singular if count == 1 else kind.plural
        say(f"{count} {what} {verdict}{' (dry run)' if dry_run else ''}")
