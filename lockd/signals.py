"""What an election is told, and what it tells the loop around it to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from lockd.ports import Acquire, Applied, Failed, KeyEvent, Release, Renew, View

if TYPE_CHECKING:
    from lockd.ports import Transaction


class StopReason(Enum):
    """Why an election ended."""

    ASKED = "asked to stop"
    SWITCHOVER = "a switchover was asked for"
    DEADLINE = "the renew deadline passed"
    OVERWRITTEN = "another wrote the election record"
    DELETED = "a key of the lock was deleted"
    TERM_ENDED = "a newer term began"
    FENCED = "a guarded write was refused"
    WORK_RETURNED = "the work returned"
    WORK_RAISED = "the work raised"
    WORK_HUNG = "the work made no progress"
    PART_FAILED = "a part of the process failed"
    HISTORY_LOST = "etcd was restored, wiped or exchanged"
    SILENT = "the client was silent for the renew deadline"
    ABANDONED = "the client's stream ended without a word"


ORDERLY = frozenset({StopReason.ASKED, StopReason.SWITCHOVER})

FAILED_WORK = frozenset({StopReason.WORK_RAISED, StopReason.WORK_HUNG, StopReason.PART_FAILED})

CLIENT_GONE = frozenset({StopReason.SILENT, StopReason.ABANDONED})
"""It may still act on a term that it knows of: that one is left to run out."""

FOR_STANDBYS = ORDERLY | CLIENT_GONE | {StopReason.PART_FAILED, StopReason.HISTORY_LOST}
"""Reasons that end a candidacy without a term too."""

STILL_MINE = ORDERLY | FAILED_WORK | {StopReason.DEADLINE, StopReason.WORK_RETURNED}
"""Reasons that leave the record the holder's own, as far as it knows: it is released."""


@dataclass(frozen=True, slots=True)
class ReadFailed:
    """A read brought no answer."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one copy of a transaction."""

    transaction: Transaction
    result: Applied | Failed


@dataclass(frozen=True, slots=True)
class StopRequested:
    """SIGTERM or the like: finish what is in flight, release, end."""


@dataclass(frozen=True, slots=True)
class WorkEnded:
    """The work of the term returned, or raised."""

    raised: bool = False


@dataclass(frozen=True, slots=True)
class PeerGone:
    """There is evidence that the process with this identity is gone."""

    identity: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A guarded write of the term with this token was refused: the earliest news of a newer term."""

    token: int


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """The client for whom this election is made lives, by its own count of such words."""

    number: int


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The client's stream broke: it may be gone, or take its term up elsewhere."""


@dataclass(frozen=True, slots=True)
class PartFailed:
    """The process can't go on: a thread that it needs has ended."""


@dataclass(frozen=True, slots=True)
class LostHistory:
    """What this process knows is of another etcd history."""


Input = (
    KeyEvent
    | View
    | ReadFailed
    | Reply
    | StopRequested
    | WorkEnded
    | Refused
    | PartFailed
    | LostHistory
    | KeepAlive
    | Abandoned
    | PeerGone
)


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do for so many seconds (inf: for ever), unless something is observed."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Read:
    """Read the lock's keys linearizably; then observe the view, or that it failed.

    Earlier reads stay open: whichever is answered first counts, and a slow member delays nothing.
    """


@dataclass(frozen=True, slots=True)
class Stop:
    """The end: nothing that is observed later changes it.

    Attributes:
        led: A term had begun.
        released: The lock was given back, so the next holder needs not wait.
        asked: Somebody had asked for the end before it came.
    """

    reason: StopReason
    led: bool
    released: bool
    asked: bool

    @property
    def exit_code(self) -> int:
        return 0 if self.asked else 1


Action = Wait | Read | Acquire | Renew | Release | Stop
