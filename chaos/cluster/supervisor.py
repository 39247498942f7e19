"""The supervisor of a local cluster: makes it, keeps its processes running, tells cluster.json, takes it down."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chaos.cluster.board import Board
from chaos.cluster.claim import claim
from chaos.cluster.crew import Crew
from chaos.cluster.earlier import put_aside
from chaos.cluster.state import FILE
from chaos.cluster.ways import Direct, Linked
from chaos.cluster.words import last_words, shortened
from component.clock import SystemClock
from lockd.errors import ConfigError, StoreError
from lockd.etcd.embedded import Embedded, EmbeddedError
from lockd.etcd.gateway import Gateway
from lockd.etcd.retry import settle
from lockd.etcd.witness import Witness
from lockd.ports import Compare, Field, Put, Txn
from lockd.record import display_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from chaos.cluster.plan import Plan
    from chaos.cluster.ways import Ways
    from component.clock import Clock

STEP: Final = 0.05
"""Seconds between two looks at the processes."""

ASKING: Final = 2.0
"""Seconds that etcd may take to say whether there was a leader."""

MARKER: Final = "chaos-allowed"
"""The key, under the prefix, that allows faults on a cluster."""


def supervise(
    plan: Plan, stop: threading.Event, *, clock: Clock | None = None, tell: Callable[[str], None] = lambda _: None
) -> None:
    """Make a cluster, keep it until `stop` is set, take it down.

    The calling thread is the one that all processes end with, however it ends. etcd's data goes when `stop` is set, or
    when a start fails; an error later on leaves it.

    Args:
        tell: Gets one line for each thing that a person may want to know.

    Raises:
        ConfigError: The folder is in use, or there is no etcd to run.
        StoreError: etcd didn't come up.
        LinksGone: The proxy didn't come up, or ended.
        OSError: A process or a file could not be made.
    """
    clock = clock or SystemClock()
    tell = _surely(tell)
    with contextlib.ExitStack() as undo:
        undo.enter_context(_claimed(plan.folder))
        if (place := put_aside(plan)) is not None:
            tell(f"logs and traces of the cluster before are in {place}")
        for folder in (plan.logs, plan.traces):
            folder.mkdir(exist_ok=True)
        remains = _Remains(plan)
        undo.callback(remains.remove_data)
        etcd = undo.enter_context(_etcd(plan))
        undo.callback(remains.kill, etcd)
        _allow_chaos(plan.prefix, etcd, clock)
        ways = _ways(plan, etcd, clock=clock, stop=stop)
        undo.callback(ways.stop)
        crew = Crew(plan, etcd, ways, clock=clock, tell=tell)
        undo.callback(remains.remove_file)
        undo.callback(crew.stop)
        try:
            crew.start()
            _keep(plan, crew, stop, clock=clock, tell=tell)
        except BaseException:
            remains.kept = _has_led(plan.prefix, etcd, clock)
            if remains.kept:
                quoted = shlex.quote(str(plan.folder))
                tell(f"etcd's data stays in {plan.etcd_folder}: remove it with: chaosctl down --dir {quoted}")
            raise


def _keep(plan: Plan, crew: Crew, stop: threading.Event, *, clock: Clock, tell: Callable[[str], None]) -> None:
    """Look after a started cluster until `stop` is set."""
    board = Board(plan.folder, crew.state(), clock=clock, tell=tell)
    for line in crew.lines():
        tell(line)
    tell(f"cluster: {plan.folder / FILE}")
    while not clock.wait(stop, STEP):
        crew.step()
        board.show(crew.state())


@dataclass(slots=True)
class _Remains:
    """What goes in the end, or stays.

    Attributes:
        kept: An error ended a cluster that had been healthy: its data is its user's, who says when it goes.
    """

    plan: Plan
    kept: bool = False

    def remove_data(self) -> None:
        if not self.kept:
            shutil.rmtree(self.plan.etcd_folder, ignore_errors=True)

    def remove_file(self) -> None:
        if not self.kept:
            (self.plan.folder / FILE).unlink(missing_ok=True)

    def kill(self, etcd: Embedded) -> None:
        """End the members at once if their data is removed: then nobody waits for an orderly end."""
        if not self.kept:
            for member in etcd.members:
                member.kill()


def _surely(tell: Callable[[str], None]) -> Callable[[str], None]:
    """The same, but a log that takes no line (its disk is full, its reader has gone) is no reason to end."""

    def told(line: str) -> None:
        with contextlib.suppress(OSError):
            tell(line)

    return told


def _etcd(plan: Plan) -> Embedded:
    """Start the members.

    Raises:
        EmbeddedError: One did not start; one line that has its last words.
    """
    try:
        return Embedded.start(members=plan.members, directory=plan.etcd_folder, auto_compaction=False)
    except EmbeddedError as error:
        what, colon, log = str(error).partition("its log ends:")
        if not colon:
            raise
        name = next((word for word in what.split() if word.startswith("etcd-")), "etcd-1")
        with contextlib.suppress(OSError):
            log = (plan.etcd_folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")
        said = last_words(log) or "it said nothing"
        raise EmbeddedError(shortened(f"{what}its log ends: {said}")) from error


def _ways(plan: Plan, etcd: Embedded, *, clock: Clock, stop: threading.Event) -> Ways:
    if not plan.proxied:
        return Direct(etcd.endpoints)
    return Linked(plan, {member.name: member.endpoint for member in etcd.members}, clock=clock, stop=stop)


def _has_led(prefix: str, etcd: Embedded, clock: Clock) -> bool:
    """Was there ever a leader? Then the cluster was more than an attempt. Yes, too, if etcd doesn't say."""
    gateway = Gateway(etcd.connection, purpose="chaos", witness=Witness(), clock=clock)
    try:
        return gateway.range(f"{prefix}/terms/", prefix=True, limit=1, timeout=ASKING).count > 0
    except StoreError:
        return True
    finally:
        gateway.close()


@contextlib.contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """Hold the folder against other supervisors. The claim ends with this process, however it ends."""
    with contextlib.ExitStack() as held:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            ours = held.enter_context(claim(folder))
        except OSError as error:
            raise ConfigError((f"{folder}: {error.strerror}: choose another with --dir",)) from error
        if not ours:
            raise ConfigError((f"{folder}: a cluster runs there: take it down first, or choose another with --dir",))
        if (folder / "etcd").exists() or (folder / FILE).exists():
            remedy = f"run `chaosctl down --dir {shlex.quote(str(folder))}` first"
            problem = f"{folder}: holds what an earlier cluster left: {remedy}"
            raise ConfigError((problem,))
        yield


def _allow_chaos(prefix: str, etcd: Embedded, clock: Clock) -> None:
    """Put the marker key, if nobody has."""
    gateway = Gateway(etcd.connection, purpose="chaos", witness=Witness(), clock=clock)
    key = f"{prefix}/{MARKER}"
    value = json.dumps({"by": f"chaosctl up, process {os.getpid()}", "since": display_time(clock.wall())}).encode()
    try:
        absent = Compare(key, Field.MOD, 0)
        settle(
            gateway,
            Txn(compares=(absent,), then=(Put(key, value),)),
            clock=clock,
            stop=threading.Event(),
            attempt=1.0,
            within=10.0,
        )
    finally:
        gateway.close()
