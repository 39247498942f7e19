from __future__ import annotations

import io
import logging
import threading

import pytest

from component import logs
from component.lifecycle import Group
from component.tracing.pipeline import Pipeline, Sink
from tests.harness.wait import eventually


@pytest.fixture
def lines():
    stream = io.StringIO()
    logs.setup(stream=stream)
    yield stream
    root = logging.getLogger()
    root.handlers = [handler for handler in root.handlers if not isinstance(handler, logs.LineHandler)]


class Kept:
    """A sink that can be told to refuse, or to wait."""

    def __init__(self):
        self.batches = []
        self.closed = threading.Event()
        self.open = threading.Event()
        self.open.set()
        self.error = None

    def take(self, items):
        self.open.wait()
        if self.error:
            raise self.error
        self.batches.append(list(items))

    def __call__(self):
        return Sink(self.take, self.closed.set)

    @property
    def items(self):
        return [item for batch in self.batches for item in batch]


def test_items_arrive_in_order_and_the_sink_is_closed_after_the_last():
    kept, group = Kept(), Group("g")
    pipeline = Pipeline("p", kept, group=group)
    for item in range(1000):
        pipeline.put(item)
    pipeline.request_close()
    assert group.join(5) == ()
    assert kept.items == list(range(1000))
    assert kept.closed.is_set()
    assert max(map(len, kept.batches)) <= 512
    assert (pipeline.dropped, pipeline.failed, pipeline.failing) == (0, 0, False)


def test_without_linger_an_item_is_handed_over_at_once():
    kept = Kept()
    pipeline = Pipeline("p", kept, group=Group("g"))
    pipeline.put("x")
    eventually(lambda: kept.items == ["x"], within=5)
    pipeline.request_close()


def test_lingering_gathers_and_closing_ends_the_lingering():
    kept, group = Kept(), Group("g")
    pipeline = Pipeline("p", kept, group=group, linger=1000)
    for item in "abc":
        pipeline.put(item)
    pipeline.request_close()
    assert group.join(5) == ()
    assert kept.batches == [["a", "b", "c"]]


def test_a_sink_that_hangs_costs_items_not_time(lines):
    kept, group = Kept(), Group("g")
    kept.open.clear()
    pipeline = Pipeline("p", kept, group=group, limit=10)
    pipeline.put(0)
    eventually(lambda: pipeline._queue.qsize() == 0, within=5)
    for item in range(1, 31):
        pipeline.put(item)
    assert pipeline.dropped == 20
    assert not pipeline.ended.is_set()
    pipeline.request_close()
    kept.open.set()
    assert group.join(5) == ()
    assert kept.items == list(range(11))
    assert "telemetry was lost pipeline=p dropped=20 failed=0" in lines.getvalue()


def test_a_refusal_is_told_once_and_so_is_its_end(lines):
    kept = Kept()
    kept.error = OSError("disk full")
    pipeline = Pipeline("p", kept, group=Group("g"))
    for number in (1, 2, 3):
        pipeline.put(number)
        eventually(lambda number=number: pipeline.failed == number, within=5)
    assert pipeline.failing
    kept.error = None
    pipeline.put(4)
    eventually(lambda: not pipeline.failing, within=5)
    assert kept.items == [4]
    assert lines.getvalue().count("telemetry is being lost") == 1
    assert 'error="OSError: disk full"' in lines.getvalue()
    assert "telemetry is taken again pipeline=p lost=3" in lines.getvalue()
    pipeline.request_close()


def test_a_sink_that_cannot_be_opened_ends_the_pipeline_and_harms_nobody(lines):
    def refuse():
        raise ValueError("bad compression")

    group = Group("g")
    pipeline = Pipeline("p", refuse, group=group)
    assert pipeline.ended.wait(5)
    pipeline.put("x")
    assert pipeline.dropped == 1
    assert pipeline.failing
    assert group.failure is None
    assert 'telemetry could not be set up pipeline=p error="ValueError: bad compression"' in lines.getvalue()


def test_after_closing_items_are_dropped():
    kept, group = Kept(), Group("g")
    pipeline = Pipeline("p", kept, group=group)
    pipeline.request_close()
    pipeline.request_close()
    pipeline.put("late")
    assert group.join(5) == ()
    assert kept.items == []
    assert pipeline.dropped == 1
