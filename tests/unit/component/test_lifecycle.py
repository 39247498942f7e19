from __future__ import annotations

import io
import logging
import threading

import pytest

from component import logs
from component.lifecycle import Group
from tests.harness.wait import eventually


@pytest.fixture
def lines():
    stream = io.StringIO()
    logs.setup(stream=stream)
    yield stream
    root = logging.getLogger()
    root.handlers = [handler for handler in root.handlers if not isinstance(handler, logs.LineHandler)]


def test_threads_are_named_daemons_and_end_on_request():
    group = Group("replica")
    thread = group.spawn("renew", group.stop.wait)
    assert (thread.name, thread.daemon) == ("replica/renew", True)
    assert group.alive == ("replica/renew",)
    group.request_stop()
    assert group.join(5) == ()
    assert group.alive == ()
    assert group.failure is None


def test_arguments_reach_the_function():
    seen = []
    group = Group("g")
    group.spawn("t", lambda *args, **kwargs: seen.append((args, kwargs)), 1, two=2)
    assert group.join(5) == ()
    assert seen == [((1,), {"two": 2})]


def test_the_first_failure_is_kept_told_once_and_stops_all(lines):
    told, second = [], threading.Event()
    group = Group("g", on_failure=told.append)

    def fail_later():
        group.stop.wait()
        second.set()
        raise KeyError("later")

    first = ValueError("first")

    def fail():
        raise first

    group.spawn("waiter", fail_later)
    group.spawn("failing", fail)
    assert group.join(5) == ()
    assert second.is_set()
    assert group.failure is first
    assert told == [first]
    text = lines.getvalue()
    assert text.count("ERROR thread failed") == 1
    assert 'thread=g/failing error="ValueError: first"' in text
    assert "Traceback" in text
    assert "WARNING another thread failed thread=g/waiter" in text


def test_an_exit_called_in_a_thread_is_a_failure(lines):
    group = Group("g")
    group.spawn("t", lambda: (_ for _ in ()).throw(SystemExit(3)))
    assert group.join(5) == ()
    assert isinstance(group.failure, SystemExit)
    assert group.stop.is_set()


def test_join_is_bounded_on_the_whole_and_names_who_stayed():
    group, release = Group("g"), threading.Event()
    for name in "abc":
        group.spawn(name, release.wait)
    group.spawn("gone", lambda: None)
    assert group.join(0.05) == ("g/a", "g/b", "g/c")
    release.set()
    assert group.join(5) == ()


def test_join_does_not_wait_for_the_thread_that_calls_it():
    group, ended = Group("g"), []
    group.spawn("self", lambda: ended.append(group.join(60)))
    eventually(lambda: ended == [()], within=5)
