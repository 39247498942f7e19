"""Memory that the process has no use for any more."""

from __future__ import annotations

import ctypes


def give_back() -> bool:
    """Return to the system what was freed and lies between what is still in use.

    The C library keeps it otherwise; after a list of many objects that is a third of the process, and a process is the
    later known to be dead the more memory the kernel has to take down first.

    Returns:
        Whether the C library can do that: glibc's does.
    """
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return False
    trim(0)
    return True
