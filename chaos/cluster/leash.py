"""Run a command that doesn't outlive the process that started it: `leash.py PARENT SIGNAL COMMAND...`.

A separate small program, because nothing may run between fork and exec in a process with threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Arrange for SIGNAL at the parent's death, then become COMMAND."""
    parent, number, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, number, 0, 0, 0) != 0:
        sys.exit(f"{command[0]}: prctl: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != parent:  # it died before the arrangement stood
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")


if __name__ == "__main__":
    main()
