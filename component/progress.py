"""Progress while a command waits: a bar on a terminal, plain lines elsewhere. On stderr."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Protocol

from component.console import note

if TYPE_CHECKING:
    from collections.abc import Iterator


class Progress(Protocol):
    """Told how far something is."""

    def __call__(self, what: str, done: float, of: float) -> None:
        """`done` of `of` parts of `what` are there."""
        ...


@contextlib.contextmanager
def progress(*, quietly: bool = False) -> Iterator[Progress]:
    """A progress for the length of a block. Without the `chaos` extra (or a terminal) it is a line for each `what`.

    Args:
        quietly: Nothing in place of those lines.
    """
    try:
        from rich.console import Console  # noqa: PLC0415 - in the extra `chaos`
        from rich.progress import (  # noqa: PLC0415
            BarColumn,
            MofNCompleteColumn,
            SpinnerColumn,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.progress import Progress as Bar  # noqa: PLC0415
    except ImportError:
        yield _silent if quietly else plain()
        return
    if sys.stderr is None or not sys.stderr.isatty():
        yield _silent if quietly else plain()
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    # What goes to stdout stays there: a redirected bar would print it on stderr.
    with Bar(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as bar:
        tasks = {}

        def tell(what: str, done: float, of: float) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=of)
            bar.update(tasks[what], completed=done, total=of)

        yield tell


def _silent(what: str, done: float, of: float) -> None:
    """Nobody is told."""


def plain() -> Progress:
    """One line when something begins, one when it is done."""
    begun: set[str] = set()
    ended: set[str] = set()

    def tell(what: str, done: float, of: float) -> None:
        if what not in begun:
            begun.add(what)
            note(f"{what} ...")
        if done >= of and what not in ended:
            ended.add(what)
            note(f"{what}: done")

    return tell
