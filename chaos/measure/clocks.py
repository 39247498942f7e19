"""Other clocks brought to one: the tool's CLOCK_BOOTTIME. The mapping is measured, and says how far it may be off."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from chaos.history import Stamp


@dataclass(frozen=True, slots=True)
class Bracket:
    """A commit, as its sender's clock and the tool's saw it: sent, replied; then brought by the watch."""

    sent: float
    replied: float
    seen: float


@dataclass(frozen=True, slots=True)
class ClockMap:
    """From wall seconds of one process to the tool's CLOCK_BOOTTIME.

    Attributes:
        offsets: Of moments of the process, in the order in which they were measured: (its moment, ours - its). One
            where the clocks were never seen to move against each other.
        error: Seconds by which a mapped moment may be off.
    """

    offsets: tuple[tuple[float, float], ...]
    error: float

    def ours(self, theirs: float) -> float:
        """A moment of the process on the tool's clock, by the offset that was measured nearest to it."""
        return theirs + min(self.offsets, key=lambda each: abs(each[0] - theirs))[1]


def shared(stamps: Iterable[Stamp]) -> ClockMap | None:
    """For processes whose wall clock is the tool's own: by reading both clocks at each revision that the watch brought.

    The error is how far the two moved against each other meanwhile. None: nothing was stamped.
    """
    offsets = [stamp.now - stamp.wall for stamp in stamps]
    if not offsets:
        return None
    middle = median(offsets)
    return ClockMap(((0.0, middle),), max(abs(offset - middle) for offset in offsets))


def lag(clock: ClockMap, brackets: Sequence[Bracket]) -> float:
    """Seconds from sending a write to the watch's word of it, typically, by processes whose clock is known."""
    return median([bracket.seen - clock.ours(bracket.sent) for bracket in brackets]) if brackets else 0.0


def refuted(clock: ClockMap, brackets: Iterable[Bracket]) -> bool:
    """Would a commit have been seen before it was sent? Then the process has another clock."""
    return any(clock.ours(bracket.sent) - clock.error > bracket.seen for bracket in brackets)


def stepped(base: ClockMap, brackets: Sequence[Bracket], steps: Collection[float]) -> ClockMap | None:
    """For a process whose wall clock is the tool's own, but for the times in which a fault had set it otherwise.

    Which of its settings was in force is told by its commits, even by one that the watch brought late: those from
    before the watch was there it brings all at once.

    Args:
        base: That of the tool's wall clock.
        steps: Seconds by which it was set ahead, one at least; below 0: back.

    Returns:
        None without a commit, or if one tells of another setting.
    """
    ((_, usual),) = base.offsets
    settings = (usual, *(usual - step for step in steps))
    offsets = []
    for bracket in brackets:
        told = bracket.seen - (bracket.sent + bracket.replied) / 2
        offset = min(settings, key=lambda setting, told=told: abs(setting - told))  # type: ignore[misc]
        if abs(offset - told) > min(map(abs, steps)) / 2:
            return None
        offsets.append(offset)
    return _between(brackets, offsets, base.error) if brackets else None


def measured(brackets: Sequence[Bracket], lag: float) -> ClockMap | None:
    """For a process with a clock of its own, by its commits.

    Each lies between two moments of its clock, and the watch brought it at a moment of ours.

    Args:
        lag: Seconds that the watch takes, typically.

    Returns:
        None without a commit.
    """
    if not brackets:
        return None
    best = _best(brackets, lag)
    return _between(brackets, [found.offset for found in best], max(found.error for found in best))


def _between(brackets: Sequence[Bracket], measured: Sequence[float], error: float) -> ClockMap:
    """From an offset for each commit to one for each moment."""
    offsets = tuple((each.sent, offset) for each, offset in zip(brackets, measured, strict=True))
    # A clock that was set by less than it ran between two commits leaves moments that may belong to either.
    for (before, old), (after, new) in pairwise(offsets):
        passed = after + new - before - old
        if error < abs(new - old) <= passed + error:
            error = abs(new - old)
    return ClockMap(offsets, error)


@dataclass(frozen=True, slots=True)
class _Offset:
    """What one commit tells: ours - its clock, and by how much that may be off."""

    offset: float
    error: float


def _best(brackets: Sequence[Bracket], lag: float) -> list[_Offset]:
    """For each commit the offset that was told most closely while the clock was set as it was then."""
    told = [
        _Offset(each.seen - (each.sent + each.replied) / 2, max(each.replied - each.sent, lag)) for each in brackets
    ]
    runs: list[list[_Offset]] = []
    for each in told:
        if runs and all(abs(each.offset - other.offset) <= each.error + other.error for other in runs[-1]):
            runs[-1].append(each)
        else:
            runs.append([each])
    return [min(run, key=lambda found: found.error) for run in runs for _ in run]
