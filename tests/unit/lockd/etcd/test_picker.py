from __future__ import annotations

import pytest

from lockd.etcd.picker import Picker

A, B, C = "a:1", "b:1", "c:1"


def fail(picker, endpoint, now):
    picker.done(endpoint, picker.sent(endpoint, now), now, well=False)


def test_calls_stay_with_one_member_while_it_is_well():
    picker = Picker([A, B, C])
    assert {picker.pick(now) for now in range(10)} == {A}


@pytest.mark.parametrize(("first", "expected"), [(0, A), (1, B), (5, C)])
def test_the_first_one_can_be_chosen(first, expected):
    assert Picker([A, B, C], first=first).pick(0.0) == expected


def test_copies_go_to_every_other_member_before_one_gets_a_second():
    picker = Picker([A, B, C])
    assert [picker.pick(0.0, copy=copy) for copy in range(6)] == [A, B, C, A, B, C]


def test_copies_go_elsewhere_though_other_calls_keep_the_home_busy():
    picker = Picker([A, B, C])
    assert picker.pick(0.0) == A
    copies = []
    for copy in (1, 2):
        picker.pick(0.0)
        copies.append(picker.pick(0.0, copy=copy))
    assert copies == [B, C]


def test_a_member_that_failed_is_avoided_and_tried_again_later():
    picker = Picker([A, B])
    fail(picker, A, 0.0)
    assert picker.pick(0.1) == B
    fail(picker, B, 0.7)
    assert picker.pick(0.8) == A


def test_failing_again_and_again_is_avoided_for_longer():
    picker = Picker([A, B])
    for now in (0.0, 1.0, 3.0):
        fail(picker, A, now)
    fail(picker, B, 3.0)
    assert picker.pick(3.6) == B  # half a second for the first failure in a row, two for the third


def test_one_answer_clears_a_member():
    picker = Picker([A, B])
    fail(picker, A, 0.0)
    fail(picker, A, 1.0)  # to be avoided for a second now, longer than the other
    fail(picker, B, 1.1)
    picker.done(A, picker.sent(A, 1.2), 1.2, well=True)
    assert picker.pick(1.3) == A


def test_calls_that_fail_together_are_one_failure():
    picker = Picker([A, B])
    calls = [picker.sent(A, 0.0) for _ in range(10)]
    for call in calls:
        picker.done(A, call, 0.1, well=False)
    fail(picker, B, 0.4)
    assert picker.pick(0.7) == A


def test_when_all_fail_the_one_that_is_due_first_is_called():
    picker = Picker([A, B, C])
    for now, endpoint in enumerate((B, C, A)):
        fail(picker, endpoint, now / 10)
    assert picker.pick(0.3) == B


def test_a_silent_member_is_left_before_its_calls_time_out():
    picker = Picker([A, B])
    call = picker.sent(A, 0.0)
    assert picker.pick(0.9) == A
    assert picker.pick(1.1) == B
    picker.done(A, call, 1.2, well=True)
    fail(picker, B, 1.3)
    assert picker.pick(1.4) == A


@pytest.mark.parametrize(("given_up_after", "expected"), [(0.1, A), (0.3, B)])
def test_giving_a_call_up_speaks_against_the_member_if_it_had_time(given_up_after, expected):
    picker = Picker([A, B])
    call = picker.sent(A, 0.0)
    picker.done(A, call, given_up_after, well=None)
    assert picker.pick(given_up_after) == expected
