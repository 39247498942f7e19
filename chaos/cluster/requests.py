"""What others ask of a supervisor: heard between two of its steps, at a unix socket."""

from __future__ import annotations

import contextlib
import secrets
from typing import TYPE_CHECKING, Any

from chaos import control
from lockd.errors import LockdError

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.control import Heard
    from component.process import Process


class Requests:
    """Owned by one thread; it never waits.

    Args:
        start: Starts what has ended again, by name; None: there is nothing of that name.

    Attributes:
        name: Of the socket.
    """

    def __init__(self, start: Callable[[str], Process | None]) -> None:
        """Listen.

        Raises:
            OSError: No socket can be had.
        """
        self.name = f"lockd-cluster-{secrets.token_hex(8)}"
        self._start = start
        self._listener = control.listen(self.name)
        self._callers: list[Heard] = []

    def step(self) -> None:
        """Answer what has come."""
        while (heard := control.take(self._listener)) is not None:
            self._callers.append(heard)
        for heard in tuple(self._callers):
            questions = heard.questions()
            try:
                for question in questions or ():
                    self._answer(heard, question)
            except OSError:  # who doesn't take its answers has left
                questions = None
            if questions is None:
                heard.socket.close()
                self._callers.remove(heard)

    def stop(self) -> None:
        """Hear nobody any more."""
        for each in (self._listener, *(heard.socket for heard in self._callers)):
            with contextlib.suppress(OSError):
                each.close()

    def _answer(self, heard: Heard, question: dict[str, Any]) -> None:
        match question:
            case {"ask": "start", "name": str(name)}:
                try:
                    process = self._start(name)
                except (LockdError, OSError) as error:
                    heard.refuse(str(error))
                    return
                if process is None:
                    heard.refuse(f"{name}: there is nothing of that name")
                else:
                    heard.answer({"pid": process.pid, "started": process.started})
            case _:
                heard.refuse("not a question")
