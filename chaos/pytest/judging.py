"""Was every write of a term made while it was in force? Judged from etcd's own history, for one test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chaos.auditor import Auditor
from chaos.checks import CHECKS
from chaos.checks.authors import Authored, foreign
from chaos.checks.violation import Violation
from chaos.ledger import Ledger
from chaos.record import Record
from lockd.errors import LockdError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chaos.history import History
    from chaos.pytest.cluster import HaCluster
    from component.clock import Clock

    TokenOf = Callable[[bytes], int]
    """The fencing token in a stored value; 0: it was written by nobody who led. It may raise what it likes."""

READ: Final = 60.0
"""Seconds that etcd may take to tell its history."""

CHECK: Final = "fenced-writes"
MOST: Final = 10
"""Violations that a message tells."""


class StaleWrites(AssertionError):
    """A write took effect though the term of its author was over, or never was.

    Attributes:
        violations: Each of them, by revision.
    """

    def __init__(self, violations: tuple[Violation, ...]) -> None:
        super().__init__("\n".join(_lines(violations)))
        self.violations = violations


class TooFewWrites(AssertionError):
    """Hardly anything was written by a leader, so that nothing was shown."""


class HistoryIncomplete(LockdError):
    """A part of the history that is to be judged was compacted away before it was read."""


def stale(history: History, *, after: int) -> tuple[tuple[Violation, ...], int]:
    """What `fenced-writes` finds among the writes of replicas after a revision, and how many it looked at."""
    ledger = Ledger.of(history)
    found = tuple(each for each in CHECKS[CHECK](Record(ledger=ledger)) if each.revision > after)
    return found, sum(write.token > 0 and write.revision > after for write in ledger.writes)


def stale_values(values: History, lock: History, token: TokenOf, *, after: int) -> tuple[tuple[Violation, ...], int]:
    """The same for values of the user's own, in which `token` finds their author's; deletions have no author.

    Args:
        values: Of the keys to be judged.
        lock: Of the lock, as far as `values` at least.
    """
    ledger = Ledger.of(lock)
    unreadable: list[Violation] = []
    written = [each for each in _authored(values, token, unreadable) if each.revision > after]
    found = [*foreign(ledger.terms, lock.from_revision, written), *unreadable]
    told = tuple(sorted((each for each in found if each.revision > after), key=lambda each: each.place))
    return told, sum(each.token > 0 for each in written)


def _authored(values: History, token: TokenOf, unreadable: list[Violation]) -> Iterator[Authored]:
    for change in values.changes:
        if change.value is None:
            continue
        try:
            author = int(token(change.value))
        except Exception as error:  # noqa: BLE001 - whatever a user's function raises: nobody can say who wrote it
            unreadable.append(
                Violation(
                    check="unreadable-value",
                    revision=change.revision,
                    key=change.key,
                    message=f"no token can be found in the value: {type(error).__name__}: {error}",
                )
            )
            continue
        yield Authored(key=change.key, revision=change.revision, token=author)


class AssertNoStaleWrites:
    """For one test: judges what was written since the test began.

    Args:
        since: The revision at which it began.
    """

    def __init__(self, cluster: HaCluster, *, since: int, clock: Clock) -> None:
        self._cluster = cluster
        self._since = since
        self._clock = clock

    def __call__(self, under: str | None = None, *, token: TokenOf | None = None, at_least: int = 0) -> int:
        """Fail the test if a write took effect after the term of its author.

        Args:
            under: Judge the values below this key of etcd's, such as `/tickets/`, in place of replicas' objects.
            token: Finds the author's fencing token in such a value; 0 is nobody's who led.
            at_least: Fail, too, if fewer writes of leaders were there to be judged.

        Returns:
            How many were.

        Raises:
            StaleWrites: One did; tells each with its revision and the term in force.
            TooFewWrites: There were fewer than `at_least`.
            HistoryIncomplete: Not all of it can be read any more.
            StoreError: etcd doesn't tell it.
            TypeError: `under` and `token` go together.
        """
        __tracebackhide__ = True  # what went wrong is told in one line; the test is what is to be seen
        if (under is None) != (token is None):
            raise TypeError("under and token go together: where values are, and what finds the token in one")
        if under is None or token is None:
            violations, judged = stale(self._whole(self._cluster.auditor), after=self._since)
        else:
            with Auditor(self._cluster.gateway, under.rstrip("/"), clock=self._clock) as auditor:
                values = self._whole(auditor)
            violations, judged = stale_values(values, self._whole(self._cluster.auditor), token, after=self._since)
        if violations:
            raise StaleWrites(violations)
        if judged < at_least:
            raise TooFewWrites(
                f"{judged} writes of leaders were there to be judged since the test began, of {at_least}"
            )
        return judged

    def _whole(self, auditor: Auditor) -> History:
        history = auditor.history(within=READ)
        if history.from_revision > max(self._since, 1):
            raise HistoryIncomplete(
                f"the history of {history.prefix} was compacted up to revision {history.from_revision} before it was "
                f"read, and the test began at {self._since}: don't compact within a test that judges"
            )
        return history


def _lines(violations: tuple[Violation, ...]) -> Iterator[str]:
    yield f"{len(violations)} stale write{'s' * (len(violations) != 1)} took effect:"
    for each in violations[:MOST]:
        yield f"  revision {each.revision}  {each.key}  {each.check}: {each.message}"
    if len(violations) > MOST:
        yield f"  and {len(violations) - MOST} more"
