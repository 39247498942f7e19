import pytest

from component.custody import Verdict, judge

WARN, KILL = 10.0, 12.0


@pytest.mark.parametrize(
    ("now", "warned", "expected"),
    [
        (0.0, False, (Verdict.LEAVE, 10.0)),
        (10.0, False, (Verdict.WARN, 2.0)),
        (11.5, False, (Verdict.WARN, 0.5)),
        (10.0, True, (Verdict.LEAVE, 2.0)),
        (11.5, True, (Verdict.LEAVE, 0.5)),
        (12.0, True, (Verdict.KILL, 0.0)),
        (12.0, False, (Verdict.KILL, 0.0)),
        (99.0, False, (Verdict.KILL, 0.0)),
    ],
)
def test_work_is_asked_to_end_once_and_killed_at_the_gate(now, warned, expected):
    assert judge(now, warn_at=WARN, kill_at=KILL, warned=warned) == expected


def test_who_was_asked_and_then_given_more_time_is_left_alone_until_that_is_over():
    assert judge(11.0, warn_at=20.0, kill_at=22.0, warned=True) == (Verdict.LEAVE, 11.0)
