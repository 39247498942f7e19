"""The command `chaosctl trace`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from chaos import handoff
from chaos.output import failures, output_option, show
from chaos.spans import read_files
from chaos.waterfall_page import page
from component.console import note
from component.tracing.waterfall import lines
from lockd.errors import ConfigError
from replica.ctl import pod_trace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from chaos.spans import Span
    from component.tracing.waterfall import Waterfall


@click.command()
@click.argument("place", metavar="FOLDER|FILE", type=click.Path(path_type=Path))
@click.option("--handoff", "number", type=click.IntRange(min=1), help="Only this one, counted from the first.")
@click.option("--pod", "pod", metavar="[NAMESPACE/]NAME", help="A pod's story in place of hand-offs.")
@click.option(
    "--html",
    "html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the picture to this file too: one page that needs nothing else.",
)
@output_option
def trace(*, place: Path, number: int | None, pod: str | None, html: Path | None, form: str) -> None:
    """Show each hand-off of the cluster in FOLDER as one timeline, or a pod's story, out of the replicas' trace files.

    FOLDER is what `chaosctl up` or `demo` printed, or any with OTLP JSON lines (*.jsonl); or name one such FILE.
    """
    if number is not None and pod is not None:
        raise click.UsageError("--handoff and --pod exclude each other")
    with failures():
        spans = read_files(_files(place))
        if not spans and place.is_file():
            raise ConfigError((f"{place}: holds no span: name a file of OTLP JSON lines, or a folder of such",))
        found, documents = _pod(spans, pod) if pod is not None else _handoffs(spans, number)
        if html is not None:
            html.write_text(page(f"{place}: {pod or 'hand-offs'}", found), encoding="utf-8")
            note(f"written: {html}")
    text = [line for each in found for line in (*lines(each), "")]
    show(documents, form, text[:-1])


def _files(place: Path) -> list[Path]:
    """The trace files there.

    Raises:
        ConfigError: There are none.
    """
    if place.is_file():
        return [place]
    for folder in (place / "trace", place):
        if files := sorted(folder.glob("*.jsonl")):
            return files
    raise ConfigError((f"{place}: no trace/*.jsonl here: name the folder that `chaosctl up` or `demo` printed",))


def _handoffs(spans: Sequence[Span], number: int | None) -> tuple[list[Waterfall], dict[str, Any]]:
    found = list(enumerate(handoff.handoffs(spans), 1))
    if not found:
        note("no hand-off in these traces: a leader has not been followed by another")
    elif number is not None:
        if number > len(found):
            raise ConfigError((f"--handoff {number}: these traces have {len(found)}",))
        found = [found[number - 1]]
    pictures = [handoff.waterfall(each, count) for count, each in found]
    return pictures, {"handoffs": [each.document() for _, each in found]}


def _pod(spans: Sequence[Span], pod: str) -> tuple[list[Waterfall], dict[str, Any]]:
    path = pod if "/" in pod else f"default/{pod}"
    found = pod_trace.stories(spans, path)
    if not found:
        raise ConfigError((pod_trace.nothing(path),))
    pictures = [pod_trace.waterfall(spans, each) for each in found]
    return pictures, {"stories": [pod_trace.document(each) for each in found]}
