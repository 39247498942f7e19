"""Until when kept work may run: a rule, and nothing else. Work that nobody can fence has no other limit than this."""

from __future__ import annotations

from enum import Enum


class Verdict(Enum):
    """What is to be done with the work."""

    LEAVE = "leave it alone"
    WARN = "ask it to end"
    KILL = "kill it"


def judge(now: float, *, warn_at: float, kill_at: float, warned: bool) -> tuple[Verdict, float]:
    """What to do at `now`, and for how many seconds nothing is to be done after that.

    Args:
        now: On a clock that counts suspend, as the other two.
        warn_at: From when on it is asked to end.
        kill_at: From when on it must not run: the gate of its term.
        warned: It was asked before.
    """
    if now >= kill_at:
        return Verdict.KILL, 0.0
    if now >= warn_at and not warned:
        return Verdict.WARN, kill_at - now
    return Verdict.LEAVE, (kill_at if warned else warn_at) - now
