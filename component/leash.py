"""Become a program that is killed when its parent dies: `python leash.py PARENT_PID COMMAND...`.

It is run as a program of its own: between fork and exec of a process with threads no Python may run.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_SET_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


def main(arguments: list[str]) -> None:
    """Ask the kernel for SIGKILL at the parent's death, then become the command."""
    parent, command = int(arguments[0]), arguments[1:]
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the parent ended first")
    try:
        os.execv(command[0], command)  # noqa: S606  # no shell: the command is a list
    except OSError as error:
        sys.exit(f"{command[0]} can't be run: {error.strerror}")


if __name__ == "__main__":
    main(sys.argv[1:])
