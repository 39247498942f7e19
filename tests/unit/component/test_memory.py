from __future__ import annotations

import ctypes
from pathlib import Path

from component import memory


def resident():
    """Pages."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])


def test_what_was_freed_between_what_is_kept_goes_back_to_the_system():
    before = resident()
    kept = [bytes(2000) for _ in range(20_000)]
    full = resident()
    del kept[::2], kept[: len(kept) // 2]  # what is left keeps the heap's end where it is
    assert memory.give_back()
    assert resident() - before < (full - before) * 0.75


def test_without_glibc_it_says_so(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not memory.give_back()
