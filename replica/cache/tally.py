"""How many pods of some kind there are in each topology domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from replica.cache.domains import grown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replica.cache.arrays import Amounts
    from replica.cache.cohort import Cohort, Traits
    from replica.cache.domains import Domains


class Tally:
    """Pods, each counted with a weight, by the value of a label of their nodes. Kept up by the census.

    Args:
        weigh: What a pod counts; 0: nothing.

    Attributes:
        amounts: What there is on each row that has anything, whether or not its node is in a domain.
        total: In all domains.
        cohorts: Whom it counts.
    """

    __slots__ = ("__weakref__", "_counts", "amounts", "cohorts", "domains", "total", "weigh")

    def __init__(self, domains: Domains, weigh: Callable[[Traits], int]) -> None:
        self.domains = domains
        self.weigh = weigh
        self.amounts: dict[int, int] = {}
        self.total = 0
        self.cohorts: set[Cohort] = set()
        self._counts: Amounts = np.zeros(domains.values + 1, np.int64)
        domains.tallies.add(self)

    @property
    def counts(self) -> Amounts:
        """int64[values + 1]: what there is in each domain; 0 under 0. Not to be changed."""
        least = self.domains.values + 1
        if len(self._counts) < least:
            self._counts = grown(self._counts, least)
        return self._counts[:least]

    def consider(self, cohort: Cohort) -> None:
        """Count these pods from now on, if they count at all."""
        weight = self.weigh(cohort)
        if weight:
            self.take(cohort, weight)

    def take(self, cohort: Cohort, weight: int) -> None:
        """Count these pods from now on."""
        cohort.tallies.append((self, weight))
        self.cohorts.add(cohort)
        for row, count in cohort.rows.items():
            self.add(row, weight * count)

    def add(self, row: int, amount: int) -> None:
        """There is more, or less, on a row."""
        there = self.amounts.get(row, 0) + amount
        if there:
            self.amounts[row] = there
        else:
            self.amounts.pop(row, None)
        domains = self.domains
        if domains.counted.item(row):
            counts, number = self._counts, domains.ids.item(row)
            if number >= len(counts):
                counts = self.counts
            counts[number] = counts.item(number) + amount
            self.total += amount

    def lose(self, cohort: Cohort) -> None:
        """None of these is left."""
        self.cohorts.discard(cohort)

    def move(self, row: int, before: int, after: int) -> None:
        """A row's node is in another domain now; 0 is none."""
        amount = self.amounts.get(row)
        if amount is None:
            return
        if before:
            self.counts[before] -= amount
            self.total -= amount
        if after:
            self.counts[after] += amount
            self.total += amount

    def close(self) -> None:
        """Nobody asks any more."""
        for cohort in self.cohorts:
            cohort.tallies = [each for each in cohort.tallies if each[0] is not self]
        self.cohorts.clear()
        self.domains.tallies.discard(self)


class Tallies:
    """One tally for each topology key that matters.

    Args:
        domains: Those of a topology key: `Census.domains`.
        weigh: Topology key -> what a pod counts there.

    Attributes:
        by_key: Topology key -> its tally; of keys that were named so far.
    """

    __slots__ = ("_domains", "by_key", "weigh")

    def __init__(self, domains: Callable[[str], Domains], weigh: Callable[[Traits], Mapping[str, int]]) -> None:
        self._domains = domains
        self.weigh = weigh
        self.by_key: dict[str, Tally] = {}

    def consider(self, cohort: Cohort) -> None:
        """Count these pods from now on, where they count."""
        for key, weight in self.weigh(cohort).items():
            if weight:
                self.of(key).take(cohort, weight)

    def of(self, key: str) -> Tally:
        """The tally of a key."""
        found = self.by_key.get(key)
        if found is None:
            found = self.by_key[key] = Tally(self._domains(key), _nothing)
        return found

    @property
    def anything(self) -> bool:
        """Does any pod on a node count?"""
        return any(tally.amounts for tally in self.by_key.values())


def _nothing(_pod: Traits) -> int:
    return 0
