"""What goes wrong with clusters, classed by the exit code that it leads to."""

from __future__ import annotations

from lockd.errors import LockdError


class NoCluster(LockdError):
    """The folder describes no cluster; the message is one line that names it and the remedy."""


class NotStarted(LockdError):
    """A supervisor ended before its cluster was healthy.

    Attributes:
        problems: What it said, line by line.
        code: Its exit code.
    """

    def __init__(self, problems: tuple[str, ...], code: int) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems
        self.code = code


class TooSlow(LockdError):
    """Something did not happen in time; the message says what, and where to look."""


class Interrupted(LockdError):
    """A signal asked to stop."""


class LinksGone(LockdError):
    """The proxy of a cluster's links can't be asked: it has ended, and its links with it."""


class WorkloadFailed(LockdError):
    """The clients of a run have failed, and ask for nothing any more: the run says nothing."""
