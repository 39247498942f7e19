from __future__ import annotations

import pytest

from replica.framework.cycle_state import CycleState
from replica.framework.diagnosis import Diagnosis


class Counted:
    def __init__(self, count):
        self.count = count

    def clone(self):
        return Counted(self.count)


def test_what_was_written_is_read_as_what_it_is():
    state = CycleState()
    state.write("k", 3)
    assert state.read("k", int) == 3
    assert state.find("other", int) is None
    with pytest.raises(TypeError, match="'k' holds a int, not a str"):
        state.read("k", str)
    state.delete("k")
    with pytest.raises(KeyError):
        state.read("k", int)


def test_a_clone_can_be_changed_without_changing_the_cycle():
    state = CycleState()
    state.write("mine", Counted(1))
    state.write("shared", {"x": 1})
    state.skip_filter.add("A")
    copy = state.clone()
    copy.read("mine", Counted).count = 9
    copy.skip_filter.add("B")
    assert state.read("mine", Counted).count == 1
    assert copy.read("shared", dict) is state.read("shared", dict)
    assert state.skip_filter == {"A"}


def test_preemption_has_the_last_word_in_the_message():
    found = Diagnosis(2, {"Insufficient cpu": 2}).after("preemption: 0/2 nodes are available: 2 No preemption victims.")
    assert found.message == (
        "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 No preemption victims."
    )
