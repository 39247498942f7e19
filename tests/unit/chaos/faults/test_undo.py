"""Undoing step by step."""

import pytest

from chaos.faults.errors import NotApplied, NotHealed
from chaos.faults.undo import Undo
from component.process import Gone


def steps(done, *names):
    undo = Undo()
    for name in names:
        undo.add(lambda name=name: done.append(name) or name)
    return undo


def test_the_newest_step_comes_first():
    done = []
    assert steps(done, "first", "second")() == "second; first"
    assert done == ["second", "first"]


def test_each_step_is_done_once():
    done = []
    undo = steps(done, "first")
    undo()
    assert undo() == ""
    assert done == ["first"]


def test_a_step_that_fails_keeps_no_other_from_being_done_and_is_tried_again():
    done = []
    undo = steps(done, "first")
    fails = [True]

    def stubborn():
        if fails:
            raise NotHealed("not yet")
        done.append("stubborn")
        return "stubborn"

    undo.add(stubborn)
    undo.add(lambda: done.append("last") or "last")
    with pytest.raises(NotHealed, match=r"^not yet$"):
        undo()
    assert done == ["last", "first"]
    fails.clear()
    assert undo() == "stubborn"


def test_a_block_that_raises_is_undone():
    done = []
    with pytest.raises(NotApplied), steps(done, "first"):
        raise NotApplied("no")
    assert done == ["first"]


def test_a_block_that_ends_well_is_left_as_it_is():
    done = []
    with steps(done, "first"):
        pass
    assert done == []


def test_a_step_without_a_proof_is_not_told():
    undo = Undo()
    undo.add(lambda: "")
    undo.add(lambda: "seen")
    assert undo() == "seen"


def test_a_step_whose_process_has_gone_keeps_no_other_from_it():
    def gone():
        raise Gone("it was removed")

    done = []
    undo = Undo()
    undo.add(lambda: done.append("first") or "first")
    undo.add(gone)
    with pytest.raises(NotHealed, match=r"^it was removed$"):
        undo()
    assert done == ["first"]
