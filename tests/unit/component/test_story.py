"""Stories: which are told, and what of them is recorded."""

from __future__ import annotations

import uuid

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, DEFAULT_ON, TraceIdRatioBased

from component.tracing import environment
from component.tracing.context import Caller, new_traceparent
from component.tracing.installed import Installed
from component.tracing.provider import readable
from component.tracing.story import MOST_EVENTS, Stories
from component.tracing.traceparent import parse

UNSAMPLED = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"


class Told(list):
    """Takes what is recorded."""

    def take(self, span):
        self.append(readable(span))


@pytest.fixture
def told(monkeypatch):
    """The spans recorded; `told.sampler(...)` installs another sampler."""
    spans = Told()

    def install(sampler, *, chosen=True):
        monkeypatch.setattr(Installed, "provider", TracerProvider(sampler=sampler, shutdown_on_exit=False))
        monkeypatch.setattr(Installed, "sampler_chosen", chosen)
        monkeypatch.setattr(Installed, "takers", (spans,))

    spans.sampler = install
    install(ALWAYS_ON)
    return spans


def test_nobody_wants_any(monkeypatch):
    monkeypatch.setattr(Installed, "provider", None)
    stories = Stories("pod")
    assert not stories.wanted
    assert stories.begin("uid", 1.0) is None


def test_a_story_is_one_span_with_its_events(told):
    term, creator = new_traceparent(), Caller(new_traceparent())
    story = Stories("pod").begin("uid", 10.0, caller=creator, links=[(term, {"link.kind": "leadership_term"})])
    story.tell("queued", 10.0)
    story.tell("refused", 10.5, plugins=("Fit",))
    story.link("bad", "batch")
    story.end(11.0, {"result": "scheduled"})
    (span,) = told
    assert (span.name, span.start_time, span.end_time) == ("pod", 10_000_000_000, 11_000_000_000)
    assert [(event.name, event.timestamp, dict(event.attributes)) for event in span.events] == [
        ("queued", 10_000_000_000, {}),
        ("refused", 10_500_000_000, {"plugins": ("Fit",)}),
    ]
    assert [link.attributes["link.kind"] for link in span.links] == ["leadership_term", "creator"]
    assert span.attributes == {"result": "scheduled"}
    assert span.context.span_id == parse(story.traceparent).span_id
    assert span.parent is None


def test_all_processes_choose_the_same_and_put_it_in_one_trace(told):
    told.sampler(TraceIdRatioBased(0.1))
    first, second = Stories("pod"), Stories("pod")
    chosen = 0
    for subject in (str(uuid.UUID(int=number * 7919, version=4)) for number in range(2000)):
        one, other = first.begin(subject, 1.0), second.begin(subject, 2.0)
        assert (one is None) == (other is None)
        if one is not None:
            chosen += 1
            assert parse(one.traceparent).trace_id == parse(other.traceparent).trace_id
            assert one.traceparent != other.traceparent
    assert 120 < chosen < 280


def test_a_share_is_taken_as_the_sampler_takes_it(told, monkeypatch):
    for share in (0.0, 0.1, 0.5, 1.0):
        told.sampler(TraceIdRatioBased(share))
        by_sampler = [Stories("pod").chosen(f"uid-{number}") for number in range(300)]
        monkeypatch.setattr(Installed, "share", share)
        assert [Stories("pod").chosen(f"uid-{number}") for number in range(300)] == by_sampler
        monkeypatch.setattr(Installed, "share", None)


@pytest.mark.parametrize(
    ("environ", "share"),
    [
        ({}, None),
        ({"OTEL_TRACES_SAMPLER": "always_on"}, None),
        ({"OTEL_TRACES_SAMPLER": "traceidratio"}, 1.0),
        ({"OTEL_TRACES_SAMPLER": "ParentBased_TraceIdRatio", "OTEL_TRACES_SAMPLER_ARG": "0.25"}, 0.25),
        ({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "many"}, None),
        ({"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "2"}, None),
    ],
)
def test_the_share_that_the_environment_asks_for(environ, share):
    assert environment.share(environ) == share


def test_without_a_word_of_the_environment_one_in_a_hundred(told):
    told.sampler(DEFAULT_ON, chosen=False)
    chosen = sum(Stories("pod").begin(f"uid-{number}", 1.0) is not None for number in range(10_000))
    assert 50 < chosen < 150


def test_whoever_made_the_subject_decides_unless_the_sampler_looks_at_nobody(told):
    recorded, not_recorded = Caller(new_traceparent()), Caller(UNSAMPLED)
    told.sampler(DEFAULT_ON, chosen=False)
    assert all(Stories("pod").begin(f"uid-{number}", 1.0, caller=recorded) for number in range(50))
    assert not any(Stories("pod").begin(f"uid-{number}", 1.0, caller=not_recorded) for number in range(50))
    told.sampler(DEFAULT_ON)  # parentbased_always_on
    assert Stories("pod").begin("uid", 1.0, caller=recorded)
    assert Stories("pod").begin("uid", 1.0, caller=not_recorded) is None
    told.sampler(ALWAYS_OFF)
    assert Stories("pod").begin("uid", 1.0, caller=recorded) is None


def test_of_a_long_story_beginning_and_end_are_told(told):
    story = Stories("pod").begin("uid", 0.0)
    for number in range(3 * MOST_EVENTS):
        story.tell("refused", float(number), attempt=number)
    story.end(1000.0, {})
    (span,) = told
    numbers = [event.attributes["attempt"] for event in span.events]
    assert len(numbers) == MOST_EVENTS
    assert numbers[:16] == list(range(16))
    assert numbers[-1] == 3 * MOST_EVENTS - 1
    assert span.attributes["events.dropped"] == 2 * MOST_EVENTS
