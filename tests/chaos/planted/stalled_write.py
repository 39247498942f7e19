"""Starts a replica that can be stopped between asking whether it leads and sending what only a leader may write.

When the file named by LOCKD_STALL_FILE is there at that moment, it is
removed and the process stops itself (SIGSTOP). Once somebody lets it go on, what it had decided to write goes out, and
etcd's answer, `applied` or `refused`, into that file's neighbour with the suffix `.reply`.
"""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from component.clock import SystemClock
from component.exit import Watchdog
from lockd.etcd.gateway import Gateway
from lockd.etcd.retry import settle
from lockd.ports import Txn
from tests.chaos.planted.patching import patch, start

if TYPE_CHECKING:
    from collections.abc import Callable

VARIABLE = "LOCKD_STALL_FILE"
PATIENCE = 30.0
CLOCK = SystemClock()


def binds(txn: Txn) -> bool:
    """Is it a guarded write of pods?"""
    guarded = any("/terms/" in compare.key for compare in txn.compares)
    return guarded and any("/pods/" in compare.key for op in txn.then if isinstance(op, Txn) for compare in op.compares)


class Stall:
    """One stall, and the write that comes after it."""

    def __init__(self, order: Path) -> None:
        self._order = order
        self._answered = threading.Event()
        self._answered.set()

    def before(self, gateway: Gateway, txn: Txn) -> None:
        """Stop here if that was ordered, then send the transaction before anything else is asked."""
        try:
            self._order.unlink()
        except FileNotFoundError:
            return
        self._answered.clear()
        # To this thread: one to the process may be taken by another, and this one go on for a moment.
        signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)
        try:
            # Its connections may have been given up while it stood: identical copies go out until one is answered.
            reply = settle(gateway, txn, clock=CLOCK, stop=threading.Event(), attempt=2.0, within=PATIENCE)
            self._order.with_suffix(".reply").write_text("applied" if reply.succeeded else "refused", encoding="utf-8")
        finally:
            self._answered.set()

    def outlasted(self, leave: Callable[[int], Any]) -> Callable[[int], Any]:
        """An exit that waits until the write is answered: the exit is not what keeps it from doing harm."""

        def late(code: int) -> Any:
            self._answered.wait(PATIENCE)
            return leave(code)

        return late


def plant() -> None:
    stall = Stall(Path(os.environ[VARIABLE]))

    def stalling(send: Callable[..., Any]) -> Callable[..., Any]:
        def sent(self: Gateway, txn: Txn, *arguments: Any, **named: Any) -> Any:
            if binds(txn):
                stall.before(self, txn)
            return send(self, txn, *arguments, **named)

        return sent

    patch(Gateway, "send", "self txn done copy timeout", stalling)
    patch(os, "_exit", "status", stall.outlasted)
    patch(Watchdog, "arm", "self at", lambda _: lambda *_: None)  # nor is the watchdog what keeps it from doing harm


if __name__ == "__main__":
    start(plant)
