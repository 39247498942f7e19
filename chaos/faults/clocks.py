"""Faults of the wall clock: a replica's is shifted, forwards or back, while it runs.

The kernel's clock stays: a small C library, preloaded into the replica, answers in its place.
"""

from __future__ import annotations

import http.client
import os
import shutil
import struct
import subprocess
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import urlsplit

from chaos.faults.effect import Effect, Moment, shown, undone
from chaos.faults.errors import NotAvailable
from chaos.faults.fault import Kind, Need
from chaos.faults.parameters import SIGNED_SECONDS, build, parameter
from chaos.faults.processes import alive
from chaos.faults.remedies import Overwrite
from chaos.faults.undo import Undo
from component.durations import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from chaos.cluster.interface import Target
    from chaos.faults.fault import Applied, Scene
    from chaos.faults.guard import Promise
    from component.process import Process

SOURCE: Final = Path(__file__).with_name("wall_clock.c")
FOLDER: Final = "clocks"
LIBRARY: Final = "wall_clock.so"
VARIABLE: Final = "LOCKD_CLOCK_FILE"

LEAST: Final = 5.0
"""Seconds by which a clock is shifted at least: replicas tell theirs in whole seconds."""

NEAR: Final = 2.5
"""Seconds by which a replica's clock may seem off for want of precision, and of time."""

COMPILING: Final = 60.0
TIMEOUT: Final = 2.0


@dataclass(frozen=True, slots=True)
class ShiftClock:
    """Shifts the wall clock of replicas, forwards or back, until healed."""

    name: ClassVar[str] = "shift-clock"
    aims: ClassVar[frozenset[Kind]] = frozenset({Kind.REPLICA})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.CLOCKS})

    by: float = parameter(SIGNED_SECONDS, 3600.0, what="By how much: 1h, or -1h for back.", leading=True)

    def __post_init__(self) -> None:
        if abs(self.by) < LEAST:
            raise ValueError(f"by: must be {format_duration(LEAST)} at least, or -{format_duration(LEAST)} at most")

    def apply(self, scene: Scene, targets: Sequence[Target]) -> Applied:
        files = {target: _file(target) for target in targets}
        with Undo() as undo:
            for target, file in files.items():
                promise = scene.guard.promise(Overwrite(str(file), encoded(0.0).hex()))
                undo.add(partial(_set_right, scene, target, file, promise))
            moment = Moment.now(scene.clock)
            for file in files.values():
                write(file, self.by)
            proofs = [
                shown(scene, partial(_reads, scene, target, self.by), f"the clock of {target.name} is not shifted")
                for target in targets
            ]
        return Effect(moment, "; ".join(proofs), undo)


def shifts(done: Iterable[tuple[str, Sequence[Target], Mapping[str, Any]]]) -> dict[str, set[float]]:
    """By how many seconds faults set the clock of each replica ahead, by its name: it keeps it when it starts anew.

    Args:
        done: Of each fault its name, its targets and its parameters.
    """
    found: dict[str, set[float]] = {}
    for name, targets, parameters in done:
        if name == ShiftClock.name:
            for target in targets:
                found.setdefault(target.name, set()).add(build(ShiftClock, name, parameters).by)
    return found


def equipped(folder: Path, names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Build the library into a cluster's folder, and give each replica a file that says how it is shifted.

    Returns:
        The variables that each replica must be started with, by its name.

    Raises:
        NotAvailable: There is no C compiler, or it can't make the library.
    """
    place = folder / FOLDER
    place.mkdir(parents=True, exist_ok=True)
    library = place / LIBRARY
    compiler = shutil.which("cc")
    if compiler is None:
        raise NotAvailable("shifting wall clocks takes a C compiler, and no `cc` is on PATH: install gcc")
    words = (compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE))
    made = subprocess.run(words, capture_output=True, text=True, timeout=COMPILING, check=False)  # noqa: S603  # `cc`, and files of ours
    if made.returncode:
        lines = made.stderr.strip().splitlines() or [f"it ended with code {made.returncode}"]
        said = next((line for line in lines if "error" in line), lines[0])
        raise NotAvailable(f"{compiler} can't make the library that shifts wall clocks: {said}")
    for name in names:
        (place / name).write_bytes(encoded(0.0))
    return {name: {"LD_PRELOAD": str(library), VARIABLE: str(place / name)} for name in names}


def encoded(seconds: float) -> bytes:
    """A shift as the library reads it: nanoseconds, signed, 64 bits."""
    return struct.pack("=q", round(seconds * 1e9))


def write(file: Path, seconds: float) -> None:
    """Shift the clock of whoever reads this file. It is mapped there, so it is written in place."""
    handle = os.open(file, os.O_WRONLY)
    try:
        os.pwrite(handle, encoded(seconds), 0)
    finally:
        os.close(handle)


def _set_right(scene: Scene, target: Target, file: Path, promise: Promise) -> str:
    write(file, 0.0)
    look = partial(_reads, scene, target, 0.0)
    proof = undone(scene, look, f"the clock of {target.name} is still shifted")
    promise.release()
    return proof


def _file(target: Target) -> Path:
    """The file that shifts a replica's clock.

    Raises:
        NotAvailable: It was started without.
    """
    variables = environment(target)
    if VARIABLE not in variables or LIBRARY not in variables.get("LD_PRELOAD", ""):
        raise NotAvailable(
            f"{target.name} runs without the library that shifts wall clocks: make a cluster with "
            "`chaosctl up --clocks`"
        )
    return Path(variables[VARIABLE])


def environment(target: Target | Process) -> dict[str, str]:
    """The variables that a process was started with; none if it has ended, or is another user's."""
    try:
        content = Path(f"/proc/{target.pid}/environ").read_bytes()
    except OSError:
        return {}
    return dict(entry.partition("=")[::2] for entry in os.fsdecode(content).split("\0") if entry)


def _reads(scene: Scene, target: Target, shift: float) -> str | None:
    """That a replica, asked over HTTP, tells a time that is shifted by so much."""
    if not alive(scene, target):
        return f"{target.name} has ended meanwhile" if not shift else None
    told = _date(target.address)
    if told is None:
        return None
    off = told - scene.clock.wall()
    if abs(off - shift) > NEAR:
        return None
    ahead = f"{abs(off):.0f} s {'ahead of' if off > 0 else 'behind'} ours" if shift else "that of ours"
    return f"the clock of {target.name} is {ahead}"


def _date(url: str) -> float | None:
    """The time that an HTTP server tells, in wall seconds; None: it doesn't."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=TIMEOUT)
    try:
        connection.request("GET", "/livez")
        told = connection.getresponse().headers.get("Date")
        return parsedate_to_datetime(told).timestamp() if told else None
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
