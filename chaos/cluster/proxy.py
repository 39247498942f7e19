"""The proxy's process, seen from whoever started it."""

from __future__ import annotations

import secrets
import sys
from typing import TYPE_CHECKING, Final

from chaos.cluster.plan import environment
from chaos.cluster.process import STEP
from chaos.cluster.words import last_words, shortened
from chaos.control import Caller, Unheard
from chaos.errors import LinksGone
from chaos.proxy.link import Link
from component.process import Child

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable
    from pathlib import Path

    from component.clock import Clock
    from component.process import Process

PATIENCE: Final = 30.0
"""Seconds that a proxy may take to start, and to answer."""


class Proxy:
    """A proxy of our own: it ends with this process.

    Every method raises LinksGone when it can't be told.

    Attributes:
        name: Of the socket at which it is told what to do.
    """

    def __init__(self, log: Path, *, clock: Clock, stop: threading.Event) -> None:
        """Start it, and wait until it can be told something.

        Args:
            stop: Gives up at once.

        Raises:
            LinksGone: It did not come up; says why.
            OSError: Its process could not be made.
        """
        self.name = f"lockd-links-{secrets.token_hex(8)}"
        self.log = log
        self._child = Child([sys.executable, "-m", "chaos.proxy", self.name], log=log, environment=environment())
        try:
            self._caller = self._call(clock, stop)
        except BaseException:
            self._child.kill()
            raise

    @property
    def process(self) -> Process:
        return self._child.process

    def open(self, links: Iterable[Link]) -> dict[Link, str]:
        """Make links, which are there as long as the proxy; where to dial for each."""
        listed = [[link.source, link.destination] for link in links]
        return {
            Link(source, destination): endpoint for source, destination, endpoint in self._ask("open", links=listed)
        }

    def place(self, name: str, pid: int, target: str) -> None:
        """Say where a process of this name is now: by which pid it dials, and at which `host:port` it is dialled."""
        self._ask("place", name=name, pid=pid, target=target)

    def check(self) -> None:
        """Look whether it is there still."""
        if self._child.exit_code is not None:
            raise self._gone()

    def stop(self) -> None:
        """End it."""
        self._caller.close()
        self._child.kill()

    def _call(self, clock: Clock, stop: threading.Event) -> Caller:
        end = clock.now() + PATIENCE
        while True:
            try:
                return Caller(self.name, timeout=PATIENCE)
            except Unheard as error:
                if self._child.exit_code is not None or clock.now() >= end or clock.wait(stop, STEP):
                    raise self._gone() from error

    def _ask(self, what: str, **fields: object) -> list[list[str]]:
        try:
            answer: list[list[str]] = self._caller.ask(what, **fields)
        except Unheard as error:
            raise self._gone() from error
        return answer

    def _gone(self) -> LinksGone:
        code = self._child.exit_code
        how = "does not answer" if code is None else f"ended with code {code}"
        said = last_words(self.log.read_text(encoding="utf-8", errors="replace"))
        return LinksGone(shortened(f"the proxy of the links {how}{f': {said}' if said else ''}"))
