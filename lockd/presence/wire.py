"""What is said on a presence connection: two lines at most, by the server alone."""

from __future__ import annotations

from dataclasses import dataclass

_HELLO = b"lockd-presence/1 "
GOODBYE = b"goodbye\n"

LONGEST = 600
"""Bytes of a line; what says more is something else."""


def hello(identity: str) -> bytes:
    """The first line: who listens here."""
    return _HELLO + identity.encode() + b"\n"


@dataclass(slots=True)
class Heard:
    """What a server has said so far.

    Attributes:
        identity: "" until the first line was received whole.
        goodbye: Whatever becomes of the connection from now on says nothing.
        strange: This is no presence.
    """

    identity: str = ""
    goodbye: bool = False
    strange: bool = False
    _rest: bytes = b""

    def take(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._line(line)
        if len(self._rest) > LONGEST:
            self.strange, self._rest = True, b""

    def _line(self, line: bytes) -> None:
        if self.identity:
            self.goodbye = self.goodbye or line + b"\n" == GOODBYE  # other lines are of versions to come
        elif line.startswith(_HELLO) and len(line) <= LONGEST:
            self.identity = line.removeprefix(_HELLO).decode(errors="replace")
        else:
            self.strange = True
