"""How nodes stand for pods that are alike: evaluated once, then kept up to date for the rows that change."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from replica.framework.scoring import Scores

if TYPE_CHECKING:
    import random
    from collections.abc import Hashable, Sequence

    from replica.api.pods import Pod
    from replica.cache.nodes import Amounts, Flags, Nodes
    from replica.framework.cycle_state import CycleState
    from replica.framework.diagnosis import Diagnosis

KEPT = 32
"""Kinds of pods remembered, the least recently seen one forgotten first."""


class Asked(NamedTuple):
    """The filters and scores that have a say about a row, for pods of one kind.

    Attributes:
        of_pods: Those of the filters that look at the pods on a node.
        lasting: Those of the scores that hold whichever nodes are feasible.
    """

    filters: Sequence[Any]
    scores: Sequence[Any]
    of_pods: Sequence[Any]
    lasting: Sequence[Any]


class Standing:
    """The feasible nodes and their scores, and the best of them, for pods with one key.

    A placement changes one node. To score that one again and to keep the list of the best costs a small part of a pass
    over all, and gives the same choice, ties included: what is drawn is a place in the same list.

    Attributes:
        pod: One of its kind, to ask about rows again.
        state: What the plugins wrote when they evaluated it.
        names: The only nodes allowed, by PreFilter; None for all.
        serial: Of the snapshot that it is up to date with.
        diagnosis: Why there is no feasible node; None when there is one.
        count: How many nodes are feasible.
        epoch: Grows each time that the scores of all nodes may have changed at once.
        node_serial: As of then, of the changes of the nodes themselves.
        asked: Who has a say about a row, as `ByRow` finds out when it is first asked.
    """

    __slots__ = (
        *("_best", "_feasible", "_given", "_offset", "_scores", "_top"),
        *("asked", "count", "diagnosis", "epoch", "names", "node_serial", "pod", "serial", "state"),
    )

    def __init__(
        self,
        pod: Pod,
        state: CycleState,
        *,
        nodes: Nodes,
        names: frozenset[str] | None = None,
        feasible: Flags | None = None,
        scores: Scores | None = None,
        diagnosis: Diagnosis | None = None,
    ) -> None:
        self.pod = pod
        self.state = state
        self.names = names
        self.serial = nodes.changes.serial
        self.node_serial = nodes.facts.changes.serial
        self.diagnosis = diagnosis
        self.epoch = 0
        self.asked: Asked | None = None
        self._feasible = np.zeros(nodes.size, np.bool_) if feasible is None else feasible.copy()
        self._given = Scores(np.zeros(nodes.size, np.int64)) if scores is None else scores
        for part in self._given.scaled:
            part.find(self._feasible)
        self._scores, self._offset = self._given.total(self._feasible), self._given.offset()
        self.count = int(np.count_nonzero(self._feasible))
        self._best = -1
        self._top: list[int] = []
        """The rows with it, ascending: so a draw falls on the same one as after a pass over all."""
        self._look_over()

    def choose(self, draw: random.Random) -> int | None:
        """The row with the highest score, of several one by chance; None when no row is feasible."""
        if not self._top:
            self._look_over()
        top = self._top
        return top[draw.randrange(len(top)) if len(top) > 1 else 0] if top else None

    @property
    def feasible(self) -> Flags:
        """bool[size]. Not to be changed."""
        return self._feasible

    @property
    def scores(self) -> Amounts:
        """int64[size], `offset` short of what each row scores. Not to be changed."""
        return self._scores

    @property
    def offset(self) -> int:
        return self._offset

    @property
    def steady(self) -> bool:
        """Do scores stay as they are if fewer nodes are feasible?"""
        return all(part.even(self.count) for part in self._given.scaled)

    def totals(self, feasible: Flags) -> tuple[Amounts, int]:
        """What each row scores where only these are feasible, and what to add to all of them.

        Args:
            feasible: bool[size], rows that are feasible here, or some of them.

        Returns:
            int64[size]; rows that aren't feasible don't matter.
        """
        if all(part.uniform or part.reaches(feasible) for part in self._given.scaled):
            return self._scores, self._offset
        narrowed = self._given.narrowed(feasible)
        return narrowed.total(feasible), narrowed.offset()

    def score(self, row: int) -> int:
        return int(self._scores[row]) + self._offset

    def update(self, rows: Sequence[int], feasible: Flags, scores: Scores) -> None:
        """These rows stand otherwise now."""
        for index, row in enumerate(rows):
            parts = [part.raw(index) for part in scores.scaled]
            self.update_row(row, fits=feasible.item(index), score=scores.base.item(index), parts=parts)

    def update_row(self, row: int, *, fits: bool, score: int, parts: Sequence[int] = ()) -> None:
        """This row stands otherwise now.

        Args:
            score: Of the scores that hold whichever nodes are feasible.
            parts: The others, before they are brought to range; none for a row that doesn't fit.
        """
        self._leave_top(row)
        was = self._feasible.item(row)
        self.count += fits - was
        self._feasible[row] = fits
        self._given.base[row] = score
        scaled = self._given.scaled
        if scaled and self._rescaled(row, parts or [0] * len(scaled), was=was):
            self._look_over()
            return
        for part, raw in zip(scaled, parts, strict=False):
            if not part.uniform:
                score += part.one(raw)
        self._scores[row] = score
        if fits:
            self._join_top(row, score)

    def rescore_row(self, row: int, score: int) -> None:
        """This feasible row still is, and has other scores of those that hold whichever nodes are feasible."""
        self._leave_top(row)
        self._given.base[row] = score
        for part in self._given.scaled:
            if not part.uniform:
                score += part.one(part.raw(row))
        self._scores[row] = score
        self._join_top(row, score)

    def _join_top(self, row: int, score: int) -> None:
        if score < self._best:
            return
        if score > self._best:
            self._best, self._top = score, []
        insort(self._top, row)

    def _rescaled(self, row: int, parts: Sequence[int], *, was: bool) -> bool:
        """Enter a row's scores before scaling; whether that changed every node's."""
        moved = False
        for part, raw in zip(self._given.scaled, parts, strict=True):
            moved |= part.enter(row, raw, was=was, feasible=self._feasible)
        if moved:
            self.epoch += 1
            self._scores, self._offset = self._given.total(self._feasible), self._given.offset()
        return moved

    def _look_over(self) -> None:
        """Find the best among all."""
        if not self.count:
            self._best, self._top = -1, []
            return
        everywhere = self.count == len(self._scores)
        scores = self._scores if everywhere else np.where(self._feasible, self._scores, np.int64(-1))
        self._best = int(scores.max())
        self._top = np.flatnonzero(scores == self._best).tolist()

    def _leave_top(self, row: int) -> None:
        place = bisect_left(self._top, row)
        if place < len(self._top) and self._top[place] == row:
            del self._top[place]


class Standings:
    """The standings of the kinds of pods seen last, by signature and what plugins look at beyond single nodes."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._by_key: OrderedDict[Hashable, Standing] = OrderedDict()

    def get(self, key: Hashable) -> Standing | None:
        found = self._by_key.get(key)
        if found is not None:
            self._by_key.move_to_end(key)
        return found

    def put(self, key: Hashable, standing: Standing) -> None:
        self._by_key[key] = standing
        self._by_key.move_to_end(key)
        if len(self._by_key) > self._kept:
            self._by_key.popitem(last=False)

    def drop(self, key: Hashable) -> None:
        self._by_key.pop(key, None)
