"""A pod's story as `describe pod --trace` and `chaosctl trace --pod` show it."""

from __future__ import annotations

import json

import pytest

from component.tracing.reading import Event, Reference, Span
from lockd.errors import ConfigError
from replica.ctl import pod_trace

STORY = Span(
    name="scheduler.schedule_pod",
    start=100.0,
    end=100.25,
    instance="host_1",
    trace_id="t1",
    span_id="s1",
    references=(
        Reference("t0", "term", {"link.kind": "leadership_term"}),
        Reference("t9", "made", {"link.kind": "creator"}),
        Reference("t2", "batch", {"link.kind": "bind_batch"}),
    ),
    events=(
        Event("created", 99.0),
        Event("queued", 100.0),
        Event("refused", 100.1, {"plugins": ["NodeResourcesFit", "TaintToleration"], "message": "no\x1b[2J room"}),
        Event("bound", 100.25, {"node": "n1", "etcd.revision": 7}),
    ),
    attributes={"pod": "default/web", "uid": "u1", "attempts": 2, "result": "scheduled", "token": 5, "node": "n1"},
)
MADE = Span(name="deploy", start=98.0, end=100.0, service="ci", trace_id="t9", span_id="made")
BATCH = Span(name="scheduler.bind_batch", start=100.2, end=100.24, instance="host_1", span_id="batch")
CALL = Span(name="etcdserverpb.KV/Txn", start=100.21, end=100.23, span_id="call", parent="batch")
OTHER = Span(name="scheduler.schedule_pod", start=90.0, end=91.0, attributes={"pod": "default/web", "uid": "u0"})
ALL = (OTHER, MADE, STORY, BATCH, CALL)


def test_a_story_is_shown_with_its_events_its_batch_and_the_calls_of_that():
    shown = pod_trace.waterfall(ALL, STORY)
    assert [(row.depth, row.what) for row in shown.rows] == [
        (0, "deploy"),
        (0, "scheduler.schedule_pod"),
        (1, "created"),
        (1, "queued"),
        (1, "refused"),
        (1, "bound"),
        (1, "scheduler.bind_batch"),
        (2, "etcdserverpb.KV/Txn"),
    ]
    assert [row.what for row in shown.rows if row.failed] == ["refused"]
    assert shown.facts == (
        "scheduled on n1 after 250.0 ms, attempts 2",
        "leader host_1, token 5, trace t1",
        "created by t9/made",
    )


def test_what_it_tells_cannot_move_a_terminals_cursor():
    text = pod_trace.lines(ALL, "default/web", "u1")
    (refused,) = [line for line in text if "refused" in line]
    assert "plugins NodeResourcesFit TaintToleration, message no\\x1b[2J room" in refused
    assert "+100.0 ms" in refused


def test_a_pod_of_the_same_name_before_is_another():
    assert pod_trace.stories(ALL, "default/web", "u1") == (STORY,)
    assert pod_trace.stories(ALL, "default/web") == (OTHER, STORY)
    assert "no story of pod default/api" in pod_trace.lines(ALL, "default/api", "")[1]


def test_as_a_document():
    told = json.loads(json.dumps(pod_trace.document(STORY)))
    assert (told["pod"], told["leader"], told["duration_ms"]) == ("default/web", "host_1", 250.0)
    assert told["events"][0] == {"offset_ms": -1000.0, "event": "created"}
    assert told["events"][-1] == {"offset_ms": 250.0, "event": "bound", "node": "n1", "etcd.revision": 7}


def test_no_files_is_an_error_that_says_where_they_come_from(tmp_path):
    with pytest.raises(ConfigError, match="--traces"):
        pod_trace.read([])
    with pytest.raises(ConfigError, match=str(tmp_path)):
        pod_trace.read([tmp_path])
    (tmp_path / "a.jsonl").write_text("\n")
    assert pod_trace.read([tmp_path, tmp_path / "a.jsonl"]) == ()
