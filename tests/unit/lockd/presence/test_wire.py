"""What is understood of what a presence server says."""

from __future__ import annotations

import pytest

from lockd.presence.wire import GOODBYE, LONGEST, Heard, hello


def heard(*parts: bytes) -> Heard:
    one = Heard()
    for part in parts:
        one.take(part)
    return one


def test_the_identity_comes_first_and_counts_only_when_it_was_received_whole():
    line = hello("host_1 ä")
    for cut in range(len(line)):
        assert heard(line[:cut]).identity == ""
        assert heard(line[:cut], line[cut:]).identity == "host_1 ä"


def test_a_goodbye_is_one_only_after_the_identity_and_whole():
    assert heard(hello("a"), GOODBYE).goodbye
    assert heard(hello("a") + GOODBYE).goodbye
    assert not heard(hello("a"), GOODBYE[:-1]).goodbye
    assert not heard(GOODBYE).goodbye
    assert heard(GOODBYE).strange


@pytest.mark.parametrize(
    "said", [b"HTTP/1.1 400 Bad Request\r\n", b"\n", b"x" * (LONGEST + 1), b"lockd-presence/2 a\n"]
)
def test_something_else_is_strange(said):
    one = heard(said)
    assert (one.strange, one.identity) == (True, "")


def test_lines_of_versions_to_come_are_left_alone():
    one = heard(hello("a"), b"load 0.5\n")
    assert (one.strange, one.goodbye, one.identity) == (False, False, "a")
