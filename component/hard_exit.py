"""The end of this process at a moment by a timer of the kernel's that calls `_exit`: the interpreter has no part in it.

`faulthandler` has a timer too, but it writes all stacks first, and looks at them while they change: now and then it
ends the process by SIGSEGV. See `docs/track-record.md`.
"""

from __future__ import annotations

import ctypes
import os
from typing import Final

AGAIN: Final = 0.25
"""Seconds after which it is tried again: the C library starts a thread for it, which takes memory and a pid."""

_BY_THREAD = 2  # SIGEV_THREAD
_BOOTTIME = 7  # CLOCK_BOOTTIME


class _Value(ctypes.Union):
    """`union sigval`: what the function gets as its one argument."""

    _fields_ = (("number", ctypes.c_int), ("pointer", ctypes.c_void_p))


class _Event(ctypes.Structure):
    """`struct sigevent`, and room for what a C library keeps behind it."""

    _fields_ = (
        ("value", _Value),
        ("signal", ctypes.c_int),
        ("how", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("reserved", ctypes.c_byte * 64),
    )


class _Setting(ctypes.Structure):
    """`struct itimerspec`."""

    _fields_ = (
        ("again", ctypes.c_long),
        ("again_nanoseconds", ctypes.c_long),
        ("seconds", ctypes.c_long),
        ("nanoseconds", ctypes.c_long),
    )


class HardExit:
    """Ends the process with `code` when its time is up; not thread-safe. A child of a fork has none of it.

    The timer counts CLOCK_BOOTTIME, which goes on while the process is stopped or the system is suspended.

    Raises:
        OSError: The kernel has no timer left (`ulimit -i`).
    """

    def __init__(self, code: int) -> None:
        self._library = ctypes.CDLL(None, use_errno=True)
        leave = ctypes.cast(self._library._exit, ctypes.c_void_p)  # noqa: SLF001 - it is the function's name
        event = _Event(value=_Value(number=code), how=_BY_THREAD, function=leave.value)
        self._timer = ctypes.c_void_p()
        if self._library.timer_create(_BOOTTIME, ctypes.byref(event), ctypes.byref(self._timer)):
            number = ctypes.get_errno()
            raise OSError(number, f"no timer for the end of the process: {os.strerror(number)}")

    def arm(self, seconds: float) -> None:
        """End it so many seconds from now, which must be more than 0, instead of at any moment set before."""
        whole, part = divmod(round(seconds * 1e9), 1_000_000_000)
        self._set(_Setting(again_nanoseconds=round(AGAIN * 1e9), seconds=whole, nanoseconds=part))

    def disarm(self) -> None:
        """Don't end it."""
        self._set(_Setting())

    def _set(self, setting: _Setting) -> None:
        if self._library.timer_settime(self._timer, 0, ctypes.byref(setting), None):
            number = ctypes.get_errno()
            raise OSError(number, f"the timer for the end of the process can't be set: {os.strerror(number)}")
