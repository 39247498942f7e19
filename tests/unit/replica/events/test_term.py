"""What a term's events are named."""

from __future__ import annotations

import uuid

import pytest

from lockd.fencing import Token
from replica.api.events import Event
from replica.events.term import TermEvents


def event(namespace="shop"):
    return Event(name="", namespace=namespace)


def named(terms, each):
    return [terms.named(event()) for _ in range(each)]


def test_each_event_has_a_name_and_a_uid_of_its_own():
    events = [*named(TermEvents("/t", Token(41)), 300), *named(TermEvents("/t", Token(42)), 300)]
    assert [each.name for each in events[:2]] == ["41-1", "41-2"]
    assert events[300].name == "42-1"
    assert len({each.uid for each in events}) == len({each.name for each in events}) == 600
    assert [each.token for each in events] == [41] * 300 + [42] * 300


def test_a_uid_is_a_random_uuid_as_the_standard_library_writes_it():
    for each in named(TermEvents("/t", Token(41)), 20):
        found = uuid.UUID(each.uid)
        assert (str(found), found.version, found.variant) == (each.uid, 4, uuid.RFC_4122)


def test_two_terms_of_one_token_have_no_uid_in_common():
    """A token is a revision, and an etcd that was restored gives it out again."""
    one, other = (named(TermEvents("/t", Token(41)), 50) for _ in range(2))
    assert not {each.uid for each in one} & {each.uid for each in other}


def test_an_event_keeps_its_name():
    terms = TermEvents("/t", Token(41))
    once = terms.named(event())
    assert terms.named(once) is once
    assert terms.put(once, 7) == terms.put(once, 7)
    assert (terms.put(once, 7).key, terms.put(once, 7).lease) == ("/t/events/shop/41-1", 7)


@pytest.mark.parametrize("namespace", ["", "a/b", "x" * 300])
def test_an_event_without_a_place_is_refused(namespace):
    with pytest.raises(ValueError, match="a name is"):
        TermEvents("/t", Token(41)).put(event(namespace), 0)


def test_what_is_created_together_rides_with_the_first():
    write = TermEvents("/t", Token(41)).create([event("a"), event("b"), event("a")], 7)
    assert (write.key, write.mod_revision, write.lease) == ("/t/events/a/41-1", 0, 7)
    assert [(rider.key, rider.lease) for rider in write.riders] == [("/t/events/b/41-2", 7), ("/t/events/a/41-3", 7)]
