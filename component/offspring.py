"""A process's children, those it adopted among them: which they are, and their end.

The keeper of kept work (`component.warden`) loads this without the rest: it imports little.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal

_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_SET_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER


def adopt() -> None:
    """From now on, whoever is orphaned among this process's descendants becomes its child instead of init's."""
    ctypes.CDLL(None).prctl(_SET_SUBREAPER, 1, 0, 0, 0)


def die_with(parent: int) -> bool:
    """Ask the kernel for SIGKILL at the parent's death; False if it has died already.

    The kernel forgets it when a program is executed that gets other rights by that (set-user-ID).
    """
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    return os.getppid() == parent


def children() -> tuple[int, ...]:
    """The pids of this process's children, those that have ended and were not reaped among them."""
    mine = str(os.getpid()).encode()
    with os.scandir("/proc") as entries:
        return tuple(int(each.name) for each in entries if each.name.isdecimal() and _stat(each.name)[1] == mine)


def kill_all() -> None:
    """SIGKILL for each child. What they leave behind is adopted: call it again until there is none."""
    for pid in children():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)  # a child's pid is nobody else's until we reap it


def is_stopped(pid: int) -> bool:
    """Has a signal stopped it?"""
    return _stat(str(pid))[0] in (b"T", b"t")


def _stat(pid: str) -> tuple[bytes, bytes]:
    """State and parent of a process; empty when it has ended meanwhile."""
    try:
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = os.read(file, 4096)
        finally:
            os.close(file)
        state, parent, *_ = text.rpartition(b")")[2].split()  # what stands before may hold anything
    except (OSError, ValueError):
        return b"", b""
    return state, parent
