"""Who believed to lead when, in true seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Belief:
    """Somebody believed to lead from one moment to another."""

    start: float
    end: float
    identity: str


@dataclass(slots=True)
class Beliefs:
    """All beliefs of a run, each without a break."""

    all: list[Belief] = field(default_factory=list)
    _last: dict[str, int] = field(default_factory=dict)

    def add(self, start: float, end: float, identity: str) -> None:
        """Note a belief, or that one goes on."""
        last = self._last.get(identity)
        if last is not None and self.all[last].end >= start:
            self.all[last] = Belief(self.all[last].start, end, identity)
            return
        self._last[identity] = len(self.all)
        self.all.append(Belief(start, end, identity))

    def cut(self, identity: str, moment: float) -> None:
        """A belief ends before it would have by itself."""
        last = self._last.get(identity)
        if last is not None and self.all[last].end > moment:
            self.all[last] = Belief(min(self.all[last].start, moment), moment, identity)

    def overlaps(self) -> list[tuple[float, str, str]]:
        """Each time that two believed at once: for how long, and who."""
        beliefs = self._sorted()
        found = []
        for index, one in enumerate(beliefs):
            for other in beliefs[index + 1 :]:
                if other.start >= one.end:
                    break
                if other.identity != one.identity:
                    found.append((min(one.end, other.end) - other.start, one.identity, other.identity))
        return found

    def gaps(self, until: float) -> list[tuple[float, float]]:
        """Each span, from and to, in which nobody believed, after the first who did."""
        spans: list[tuple[float, float]] = []
        for belief in self._sorted():
            if spans and belief.start <= spans[-1][1]:
                spans[-1] = (spans[-1][0], max(spans[-1][1], belief.end))
            else:
                spans.append((belief.start, belief.end))
        gaps = [(before[1], after[0]) for before, after in pairwise(spans)]
        if spans and spans[-1][1] < until:
            gaps.append((spans[-1][1], until))
        return gaps

    def led(self, until: float) -> float:
        """The share of the time in which somebody did."""
        first = min((belief.start for belief in self.all), default=until)
        return 1.0 - (first + sum(end - start for start, end in self.gaps(until))) / until

    def _sorted(self) -> list[Belief]:
        return sorted(self.all, key=lambda belief: belief.start)
