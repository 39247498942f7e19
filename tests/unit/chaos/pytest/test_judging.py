"""Stale writes are found in a history, whoever's the values are; what was before the test is not blamed on it."""

import json

import pytest

from chaos.history import Change, History
from chaos.pytest.judging import AssertNoStaleWrites, HistoryIncomplete, StaleWrites, TooFewWrites, stale, stale_values
from tests.harness.clock import ManualClock
from tests.harness.history import HistoryMaker


@pytest.fixture
def made():
    """A bound p1; B leads, and then A's bind of p2 took effect."""
    made = HistoryMaker()
    made.node("n1")
    made.pod("p1")
    made.pod("p2")
    made.first = made.acquire("A")
    made.bind("p1", "n1")
    made.second = made.acquire("B")
    made.late = made.bind("p2", "n1", token=made.first)
    return made


def values(*written, prefix="/shop"):
    changes = tuple(
        Change("last", revision, None if token is None else json.dumps({"by": token}).encode(), 1)
        for revision, token in written
    )
    return History(prefix, 1, max(revision for revision, _ in written), (), changes)


def token_of(value):
    return json.loads(value)["by"]


def test_a_stale_write_of_a_replica_is_found(made):
    violations, judged = stale(made.history(), after=0)
    assert [(each.check, each.revision, each.key) for each in violations] == [
        ("stale-token", made.late, "pods/default/p2")
    ]
    assert judged == 2


def test_what_was_before_the_test_is_not_blamed_on_it(made):
    assert stale(made.history(), after=made.late) == ((), 0)
    assert [each.revision for each in stale(made.history(), after=made.late - 1)[0]] == [made.late]


def test_stale_values_of_the_users_own_are_found(made):
    written = values((made.first + 1, made.first), (made.late + 1, made.first), (made.late + 2, made.second))
    violations, judged = stale_values(written, made.history(), token_of, after=0)
    assert [(each.check, each.revision, each.key) for each in violations] == [("stale-token", made.late + 1, "last")]
    assert judged == 3


def test_values_of_nobody_and_deletions_are_not_judged(made):
    assert stale_values(values((9, 0), (10, None)), made.history(), token_of, after=0) == ((), 0)


def test_a_value_in_which_no_token_can_be_found_is_told(made):
    broken = History("/shop", 1, 9, (), (Change("last", 8, b"{}", 1), Change("last", 9, b"{}", 1)))
    violations, judged = stale_values(broken, made.history(), token_of, after=8)
    assert [(each.check, each.revision) for each in violations] == [("unreadable-value", 9)]
    assert violations[0].message == "no token can be found in the value: KeyError: 'by'"
    assert judged == 0


class Told:
    """A cluster with a history made by hand."""

    def __init__(self, history):
        self.auditor = self
        self._history = history

    def history(self, *, within):
        return self._history


def asserting(history, *, since=1):
    return AssertNoStaleWrites(Told(history), since=since, clock=ManualClock())


def test_the_assertion_is_red_and_says_where(made):
    with pytest.raises(StaleWrites) as refused:
        asserting(made.history())()
    assert str(refused.value) == (
        "1 stale write took effect:\n"
        f"  revision {made.late}  pods/default/p2  stale-token: put with token {made.first}, whose term (A) ended at "
        f"revision {made.second}; in force was {made.second} (B)"
    )


def test_it_is_green_where_all_was_right_and_says_how_much_that_was(made):
    made.bind("p1", "n1", token=made.second)
    assert asserting(made.history(), since=made.late)(at_least=1) == 1


def test_it_is_red_where_there_was_nothing_to_judge(made):
    with pytest.raises(TooFewWrites, match="0 writes of leaders were there to be judged since the test began, of 1"):
        asserting(made.history(), since=made.late)(at_least=1)


def test_it_judges_no_history_of_which_a_part_is_missing(made):
    cut = made.history(compacted=made.second)
    with pytest.raises(HistoryIncomplete, match=f"was compacted up to revision {made.second} before it was read"):
        asserting(cut, since=made.first)()
    assert asserting(made.history(compacted=made.late), since=made.late)() == 0


def test_where_values_are_and_how_they_are_read_go_together(made):
    with pytest.raises(TypeError, match="under and token go together"):
        asserting(made.history())("/shop/")


def test_many_are_told_by_their_first(made):
    for _ in range(12):
        made.bind("p2", "n1", token=made.first)
    with pytest.raises(StaleWrites, match=r"(?s)13 stale writes took effect:.* and 3 more$"):
        asserting(made.history())()
