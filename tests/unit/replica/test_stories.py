"""What is told of single pods: by a scheduler on an etcd in memory, and by the stories alone."""

from __future__ import annotations

import json

import pytest

from component import tracing
from component.tracing.traceparent import parse
from replica.api import codec
from replica.api.pods import Pod
from replica.queue.pod import QueuedPod
from replica.stories import MOST, MOST_UNFINISHED, NAME, PodStories, creator
from tests.harness.clock import ManualClock
from tests.harness.span_model import violations
from tests.harness.told import Told
from tests.harness.wait import eventually
from tests.harness.world import WITHIN, World


@pytest.fixture
def told(monkeypatch):
    return Told(monkeypatch)


def annotated(**annotations):
    manifest = {"metadata": {"annotations": annotations}, "spec": {}}
    return Pod(name="p", namespace="default", uid="u", value=codec.encode(json.dumps(manifest).encode()))


def queued(number):
    return QueuedPod(Pod(name=f"p{number}", namespace="default", uid=f"uid-{number}"), 0.0, 0.0)


@pytest.fixture
def stories():
    made = PodStories()
    made.lead(tracing.new_traceparent(), 7, ManualClock())
    return made


def test_a_pod_is_told_from_the_queue_to_the_batch_that_bound_it(told):
    with World() as world:
        world.add_node("small", allocatable={"cpu": "1", "pods": 10})
        world.add_pods("p", requests={"cpu": "2"})
        world.lead()
        eventually(lambda: world.queue.pending()["unschedulable"] == 1, within=WITHIN)
        world.add_node("a", allocatable={"cpu": "4", "pods": 10})
        world.wait_bound("p")
        (story,) = eventually(lambda: told.spans(NAME), within=WITHIN)
        term = parse(world.leadership.traceparent)
        token = int(world.leadership.token)
    names = [event.name for event in story.events]
    assert names[:2] == ["queued", "attempt"] or names[:3] == ["created", "queued", "attempt"]
    assert names[-3:] == ["placed", "batch", "bound"]
    (refused,) = [event for event in story.events if event.name == "refused"]
    assert refused.attributes["plugins"] == ["NodeResourcesFit"]
    assert "Insufficient cpu" in refused.attributes["message"]
    assert story.events[-1].attributes["node"] == "a"
    assert (story.attributes["pod"], story.attributes["result"], story.attributes["node"]) == (
        "default/p",
        "scheduled",
        "a",
    )
    assert story.attributes["attempts"] >= 2
    assert story.attributes["token"] == token
    assert story.linked("leadership_term") == (f"{term.span_id:016x}",)
    batches = {span.span_id: span for span in told.spans("scheduler.bind_batch")}
    (batch,) = story.linked("bind_batch")
    assert batches[batch].attributes["etcd.revision"] == story.events[-1].attributes["etcd.revision"]
    assert [problem for span in told.spans() for problem in violations(span)] == []


def test_a_scheduler_that_nobody_traces_keeps_no_stories():
    with World() as world:
        world.add_node("a")
        world.add_pods("p")
        world.lead()
        world.wait_bound("p")
        assert world.parts.stories._told == {}


def test_whoever_made_a_pod_is_linked(told, stories):
    made = tracing.new_traceparent()
    pod = annotated(traceparent=made, tracestate="v=1")
    assert creator(pod) == tracing.Caller(made, "v=1")
    stories.attempt(QueuedPod(pod, 0.0, 0.0))
    stories.gone(pod.uid)
    (story,) = told.spans(NAME)
    assert story.linked("creator") == (made.split("-")[2],)
    assert story.attributes["result"] == "deleted"


@pytest.mark.parametrize(
    "pod",
    [
        annotated(),
        annotated(traceparent="nonsense"),
        annotated(traceparent=7),
        annotated(traceparents=tracing.new_traceparent()),
        Pod(name="p", uid="u", value=b"\xfftraceparent"),
        Pod(name="p", uid="u", value=codec.encode(b'{"metadata": {"annotations": {"traceparent": ')),
        Pod(name="p", uid="u"),
    ],
)
def test_a_pod_that_names_nobody(pod):
    assert creator(pod) is None


def test_what_still_waits_at_the_end_of_a_term_is_told_as_far_as_there_is_time(told, stories):
    for number in range(MOST_UNFINISHED + 5):
        stories.attempt(queued(number))
    stories.follow()
    found = told.spans(NAME)
    assert len(found) == MOST_UNFINISHED
    assert {span.attributes["result"] for span in found} == {"unfinished"}
    stories.attempt(queued(0))  # whatever comes now is the next leader's
    assert stories.of("uid-0") is None


def test_there_is_an_end_to_how_many_are_told_at_once(told, stories, monkeypatch):
    monkeypatch.setattr("replica.stories.MOST", 3)
    for number in range(5):
        stories.attempt(queued(number))
    assert [number for number in range(5) if stories.of(f"uid-{number}")] == [0, 1, 2]
    stories.attempt(queued(1))
    stories.gone("uid-1")
    stories.attempt(queued(4))
    assert stories.of("uid-4")
    assert MOST > MOST_UNFINISHED


def test_a_second_attempt_goes_on_with_the_same_story(told, stories):
    one = queued(1)
    stories.attempt(one)
    first = stories.of("uid-1")
    stories.attempt(QueuedPod(one.pod, 0.0, 0.0, attempts=2))
    assert stories.of("uid-1") is first
    stories.gone("uid-1")
    stories.gone("uid-1")
    (story,) = told.spans(NAME)
    assert story.attributes["attempts"] == 2
