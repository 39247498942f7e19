"""The indexer, its indexes and its listers."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replica.cache.indexer import NAMESPACE, Indexer
from replica.cache.lister import Lister


@dataclass(frozen=True)
class Thing:
    namespace: str
    name: str
    colours: tuple[str, ...] = ()

    @property
    def key(self):
        return f"{self.namespace}/{self.name}"


def indexer(*things):
    made = Indexer({NAMESPACE: lambda thing: (thing.namespace,), "colour": lambda thing: thing.colours})
    for thing in things:
        made.put(thing.key, thing)
    return made


A = Thing("one", "a", ("red", "blue"))
B = Thing("one", "b", ("blue",))
C = Thing("two", "a")


def test_objects_are_found_by_key_and_by_index():
    made = indexer(A, B, C)
    assert made.get("one/a") == A
    assert made.get("one/c") is None
    assert (len(made), "two/a" in made, sorted(made.keys())) == (3, True, ["one/a", "one/b", "two/a"])
    assert made.by_index("colour", "blue") == [A, B]
    assert made.by_index("colour", "green") == []
    assert sorted(made.index_values("colour")) == ["blue", "red"]


def test_a_replaced_object_leaves_its_old_values():
    made = indexer(A, B)
    assert made.put("one/a", Thing("one", "a", ("green",))) == A
    assert made.by_index("colour", "red") == []
    assert made.by_index("colour", "blue") == [B]
    assert sorted(made.index_values("colour")) == ["blue", "green"]


def test_a_deleted_object_leaves_nothing_behind():
    made = indexer(A)
    assert made.delete("one/a") == A
    assert made.delete("one/a") is None
    assert made.index_values("colour") == []
    assert made.values() == []


def test_an_index_added_late_finds_what_is_there():
    made = indexer(A, B)
    made.add_indexes({"initial": lambda thing: (thing.name[0],)})
    assert made.by_index("initial", "b") == [B]


def test_an_index_has_one_meaning():
    with pytest.raises(ValueError, match="colour"):
        indexer().add_indexes({"colour": lambda thing: thing.colours})


def test_an_unknown_index_is_an_error():
    with pytest.raises(KeyError):
        indexer().by_index("size", "big")


def test_a_function_that_raises_changes_nothing():
    made = indexer(A)

    def broken(thing):
        raise RuntimeError(thing)

    with pytest.raises(RuntimeError):
        made.add_indexes({"broken": broken})
    made.put(B.key, B)
    assert made.by_index("colour", "blue") == [A, B]


things = st.builds(
    Thing, st.sampled_from("xy"), st.sampled_from("abc"), st.lists(st.sampled_from("rgb"), unique=True).map(tuple)
)


@given(st.lists(st.one_of(things, things.map(lambda thing: thing.key))))
def test_indexes_agree_with_a_plain_search(script):
    made, truth = indexer(), {}
    for step in script:
        if isinstance(step, Thing):
            made.put(step.key, step)
            truth[step.key] = step
        else:
            made.delete(step)
            truth.pop(step, None)
    for colour in "rgb":
        found = {thing.key for thing in made.by_index("colour", colour)}
        assert found == {key for key, thing in truth.items() if colour in thing.colours}
    assert {thing.key: thing for thing in made.values()} == truth


def test_readers_and_writers_do_not_disturb_each_other():
    made, failures, stop = indexer(), [], threading.Event()

    def read():
        try:
            while not stop.is_set():
                for thing in made.by_index("colour", "blue"):
                    assert "blue" in thing.colours
                made.values()
        except Exception as error:  # noqa: BLE001 - whatever it is, the test is to see it
            failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(3000):
        made.put("one/a", A if number % 2 else Thing("one", "a", ("green",)))
        made.delete("one/a") if number % 7 == 0 else made.put(B.key, B)
    stop.set()
    reader.join(30)
    assert failures == []


def test_listers_read_by_name_namespace_and_condition():
    lister = Lister(indexer(A, B, C))
    assert lister.get("a", "two") == C
    assert lister.get("a", "three") is None
    assert lister.list() == [A, B, C]
    assert lister.list(lambda thing: thing.name == "a") == [A, C]
    one = lister.namespaced("one")
    assert one.list() == [A, B]
    assert one.list(lambda thing: "red" in thing.colours) == [A]
    assert (one.get("b"), one.get("c")) == (B, None)
