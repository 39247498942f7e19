from __future__ import annotations

import pytest

from replica.gathering import ENOUGH, MOMENT, Gathering


def groups(*names):
    """Groups of one, or of as many as their name has letters; what is in them doesn't matter here."""
    return [tuple(name) for name in names]


@pytest.fixture
def waiting():
    return Gathering()


def test_nothing_is_not_worth_a_transaction(waiting):
    assert not waiting
    assert not waiting.worth_sending(1e9, in_flight=0)


def test_the_first_goes_at_once(waiting):
    waiting.add(groups("a"), 100.0)
    assert waiting
    assert waiting.worth_sending(100.0, in_flight=0)


def test_what_comes_while_one_is_on_its_way_waits_a_moment(waiting):
    waiting.add(groups("a"), 100.0)
    assert not waiting.worth_sending(100.0 + 0.9 * MOMENT, in_flight=1)
    assert waiting.worth_sending(waiting.due, in_flight=1)
    assert waiting.worth_sending(waiting.due, in_flight=3)


def test_the_moment_begins_with_the_first_that_waits(waiting):
    waiting.add(groups("a"), 100.0)
    waiting.add(groups("b"), 100.0 + 0.9 * MOMENT)
    assert waiting.due == 100.0 + MOMENT
    waiting.groups.clear()
    waiting.add(groups("c"), 200.0)
    assert waiting.due == 200.0 + MOMENT


def test_enough_waits_for_nobody(waiting):
    waiting.add(groups("a" * (ENOUGH - 2), "b"), 100.0)
    assert not waiting.worth_sending(100.0, in_flight=1)
    waiting.add(groups("c"), 100.0)
    assert waiting.worth_sending(100.0, in_flight=1)


def test_what_is_put_back_comes_first_and_does_not_wait_again(waiting):
    waiting.add(groups("c"), 100.0)
    waiting.put_back(groups("a", "b"))
    assert list(waiting.groups) == groups("a", "b", "c")
    assert waiting.worth_sending(100.0, in_flight=1)
