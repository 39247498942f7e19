"""The heap agrees with a list that is sorted each time."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from replica.queue.heap import SLACK, Heap


@dataclass(frozen=True)
class Item:
    key: str
    order: int
    label: int = 0


def heap():
    return Heap(lambda item: item.key, lambda item: item.order)


class Model:
    """What a heap is to do, in the plainest way: a list, sorted when it is asked."""

    def __init__(self):
        self.items = []
        self.turn = {}
        self.turns = 0

    def add(self, item):
        known = self.get(item.key)
        if known is None or known.order != item.order:
            self.turns += 1
            self.turn[item.key] = self.turns
        self.items = [other for other in self.items if other.key != item.key] + [item]

    def get(self, key):
        return next((item for item in self.items if item.key == key), None)

    def delete(self, key):
        found = self.get(key)
        self.items = [item for item in self.items if item.key != key]
        return found

    def peek(self):
        return min(self.items, key=lambda item: (item.order, self.turn[item.key]), default=None)

    def pop(self):
        first = self.peek()
        return None if first is None else self.delete(first.key)


keys = st.sampled_from("abcdefgh")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), keys, st.integers(0, 4), st.integers(0, 3)),
        st.tuples(st.just("delete"), keys),
        st.tuples(st.just("pop")),
    ),
    max_size=200,
)


@given(steps)
def test_every_answer_is_that_of_a_sorted_list(script):
    tested, model = heap(), Model()
    for name, *arguments in script:
        if name == "add":
            item = Item(*arguments)
            tested.add(item)
            model.add(item)
        elif name == "delete":
            assert tested.delete(*arguments) == model.delete(*arguments)
        else:
            assert tested.pop() == model.pop()
        assert tested.peek() == model.peek()
        assert len(tested) == len(model.items)
        assert set(tested) == set(model.items)
    while (first := model.pop()) is not None:
        assert tested.pop() == first
    assert tested.pop() is None


def test_equals_come_out_in_the_order_in_which_they_came_in():
    tested = heap()
    for number in range(50):
        tested.add(Item(f"{number:02}", 7))
    assert [tested.pop().key for _ in range(50)] == [f"{number:02}" for number in range(50)]


def test_an_update_of_equal_order_keeps_its_turn_and_brings_the_new_item():
    tested = heap()
    tested.add(Item("a", 1))
    tested.add(Item("b", 1))
    tested.add(Item("a", 1, label=9))
    assert tested.pop() == Item("a", 1, label=9)


def test_dead_entries_do_not_pile_up():
    tested = heap()
    tested.add(Item("still", 0))
    for number in range(10_000):
        tested.add(Item("moving", number))
    assert len(tested._entries) <= 2 * len(tested) + SLACK + 1
    assert [tested.pop().key, tested.pop().key, tested.pop()] == ["still", "moving", None]


def test_a_key_can_be_asked_for():
    tested = heap()
    tested.add(Item("a", 1))
    assert "a" in tested
    assert "b" not in tested
    assert tested.get("a") == Item("a", 1)
    assert tested.get("b") is None
