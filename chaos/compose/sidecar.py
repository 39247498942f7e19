"""The proxy in a container of its own, asked and hurt from here: by a command that runs inside, and ends with us."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final, Self

from chaos.compose.engine import EngineError
from chaos.control import Conversation, Unheard
from chaos.proxy.links import ProxyLinks
from component.process import Gone

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.compose.container import Container
    from chaos.compose.engine import Engine
    from chaos.control import Wire

COMMAND: Final = ("python3", "-m", "chaos.proxy.bridge")
"""Passes questions on to the proxy; its connection ends with its input, and rules are lifted then."""

SPARE: Final = 2
"""Conversations that are kept for later: a command takes its time to start."""


class Conversations:
    """Those with one proxy: kept when they are over, so that nothing is waited for when a rule is to be put in force.

    A context manager, which ends those that are kept.
    """

    def __init__(self, engine: Engine, container: Callable[[], Container]) -> None:
        self._engine = engine
        self._container = container
        self._lock = threading.Lock()
        self._kept: list[Wire] = []

    def begin(self) -> Conversation:
        """One that was kept, or a new one.

        Raises:
            Unheard: The container has ended.
        """
        with self._lock:
            wire = self._kept.pop() if self._kept else None
        if wire is None:
            try:
                wire = self._engine.talk(self._container().id, COMMAND)
            except (Gone, EngineError) as error:
                raise Unheard(str(error)) from error
        return Conversation(_Lent(self, wire))

    def keep(self, wire: Wire) -> None:
        """A conversation is over, and what it was about lifted."""
        with self._lock:
            if len(self._kept) < SPARE:
                self._kept.append(wire)
                return
        wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            kept, self._kept = self._kept, []
        for wire in kept:
            wire.close()


class _Lent:
    """A wire that goes back in the end, unless it broke or an answer is missing."""

    def __init__(self, owner: Conversations, wire: Wire) -> None:
        self._owner = owner
        self._wire = wire
        self._waiting = False

    def sendall(self, data: bytes, /) -> None:
        self._waiting = True
        self._wire.sendall(data)

    def recv(self, most: int, /) -> bytes:
        data = self._wire.recv(most)
        self._waiting = not data.endswith(b"\n")
        return data

    def close(self) -> None:
        if self._waiting:
            self._wire.close()
        else:
            self._owner.keep(self._wire)


def links(conversations: Conversations) -> ProxyLinks:
    """The links of a project."""
    return ProxyLinks("", conversations.begin)
