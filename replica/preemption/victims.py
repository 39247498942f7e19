"""The pods of one node that have to go for another: those that matter least, and no more than needed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from replica.api.times import parse_time

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from replica.api.pods import Pod
    from replica.framework.attempts import Attempt
    from replica.framework.disruptions import Budgets

_OFFSET = 1 << 31
"""Added to each priority in a sum, so that one more victim is always more harm, whatever its priority."""

NEVER = float("inf")


class Victims(NamedTuple):
    """Who goes.

    Attributes:
        pods: The most important first.
        violations: How many of them a disruption budget would have kept.
        highest: The priority of the most important.
        total: The sum of their priorities, each counted from the lowest there can be.
        started: Since when the longest-running of the most important ones has run, seconds since 1970; infinite where
            that isn't known.
    """

    pods: tuple[Pod, ...]
    violations: int
    highest: int
    total: int
    started: float

    @property
    def harm(self) -> tuple[int, int, int, int, float]:
        """By what nodes are compared, the least first."""
        return self.violations, self.highest, self.total, len(self.pods), -self.started

    @classmethod
    def of(cls, pods: Sequence[Pod], violations: int, priority: Callable[[Pod], int]) -> Victims:
        """The victims, from the most important on."""
        priorities = [priority(pod) for pod in pods]
        highest = max(priorities, default=-_OFFSET)
        since = [started_at(pod.started) for pod, number in zip(pods, priorities, strict=True) if number == highest]
        total = sum(number + _OFFSET for number in priorities)
        return cls(tuple(pods), violations, highest, total, min(since, default=NEVER))


@lru_cache(maxsize=65536)
def started_at(text: str) -> float:
    """Seconds since 1970; never, where nobody says: such a pod is the least important of its priority."""
    found = parse_time(text) if text else None
    return NEVER if found is None else found


def by_importance(priority: Callable[[Pod], int]) -> Callable[[Pod], tuple[int, float, str]]:
    """What pods are sorted by, the most important first: high priority, then who has run longer."""
    return lambda pod: (-priority(pod), started_at(pod.started), pod.path)


def choose(
    attempt: Attempt, lower: Sequence[Pod], *, priority: Callable[[Pod], int], budgets: Budgets
) -> tuple[Victims | None, bool]:
    """Take all away that matter less, then give back whom the pod leaves room for, the most important first.

    Those that a disruption budget would keep come back before the others.

    Args:
        lower: The pods of the node that matter less.

    Returns:
        The victims, None where the pod doesn't fit even without all of them; and whether a budget was asked.
    """
    attempt.without(lower)
    if not attempt.fits():
        return None, False
    candidates = sorted(lower, key=by_importance(priority))
    kept = budgets.violated(candidates)
    if kept is None:
        return Victims.of([pod for pod in candidates if not attempt.keeps(pod)], 0, priority), False
    guarded = [pod for pod, violates in zip(candidates, kept, strict=True) if violates]
    others = [pod for pod, violates in zip(candidates, kept, strict=True) if not violates]
    violating = [pod for pod in guarded if not attempt.keeps(pod)]
    going = violating + [pod for pod in others if not attempt.keeps(pod)]
    return Victims.of(sorted(going, key=by_importance(priority)), len(violating), priority), True
