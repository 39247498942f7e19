"""Writes judged by the tokens that they carry, whatever they are of."""

from chaos.checks.authors import Authored, foreign
from chaos.terms import Terms
from tests.harness.history import HistoryMaker


def found(made, *writes, compacted=0):
    history = made.history(compacted=compacted)
    return [
        (each.check, each.revision, each.term_token)
        for each in foreign(Terms.of(history), history.from_revision, writes)
    ]


def write(revision, token, **more):
    return Authored(key="/shop/last", revision=revision, token=token, **more)


def test_a_write_is_its_terms_until_the_next_one_began():
    made = HistoryMaker()
    first = made.acquire("A")
    second = made.acquire("B")
    assert found(made, write(first + 1, first), write(second + 1, second), write(second + 2, 0)) == []
    assert found(made, write(second, first)) == []  # etcd judged it before the acquire that has the same revision
    assert found(made, write(second + 1, first)) == [("stale-token", second + 1, second)]


def test_who_never_led_is_told_from_who_led_once():
    made = HistoryMaker()
    token = made.acquire("A")
    made.release()
    assert found(made, write(token + 3, token)) == [("stale-token", token + 3, 0)]
    assert found(made, write(token + 3, token + 1)) == [("unknown-token", token + 3, 0)]
    assert found(made, write(token + 3, token + 3)) == [("token-from-the-future", token + 3, 0)]


def test_a_token_from_before_the_history_begins_is_stale():
    made = HistoryMaker()
    first = made.acquire("A")
    second = made.acquire("B")
    assert found(made, write(second + 1, first), compacted=second) == [("stale-token", second + 1, second)]


def test_locks_dont_mix():
    made = HistoryMaker()
    mine = made.acquire("A", lock="shop/tills")
    other = made.acquire("B", lock="shop/stock")
    assert found(made, write(other + 1, mine), write(other + 1, other)) == []


def test_a_delete_is_told_as_one():
    made = HistoryMaker()
    first, second = made.acquire("A"), made.acquire("B")
    history = made.history()
    (stale,) = foreign(Terms.of(history), 1, [write(second + 1, first, deletes=True)])
    assert stale.message.startswith(f"delete with token {first}, whose term (A) ended at revision {second}; in force")
