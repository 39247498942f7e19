"""What a term's work hears of its end."""

from __future__ import annotations

from lockd.leadership import Bell


def test_a_bell_wakes_those_who_asked_for_it_before_and_after():
    bell, heard = Bell(), []
    bell.on_set(lambda: heard.append("before"))
    assert heard == []
    bell.set()
    assert heard == ["before"]
    bell.on_set(lambda: heard.append("after"))
    assert heard == ["before", "after"]
    assert bell.is_set()
