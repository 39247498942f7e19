"""Three replicas export to a collector while their leader is killed: spans and its file tell the hand-off whole."""

from __future__ import annotations

import pytest

from chaos.handoff import BARRIER, BIND, RENEW, handoffs
from chaos.spans import read_files
from component.clock import SystemClock
from tests.harness import crew as harness
from tests.harness.collector import Collector
from tests.harness.local import nodes, pods
from tests.harness.replicas import STEADY
from tests.harness.span_model import violations
from tests.harness.wait import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.timeout(240)]

CLOCK = SystemClock()
OWED = 0.1
"""Seconds: what a killed leader told of its election before that is in its file."""

STORY = "scheduler.schedule_pod"


class Noted:
    """What a leader noted of its own spans, beside its telemetry."""

    def __init__(self, path):
        lines = [line.split(" ") for line in path.read_text(encoding="utf-8").splitlines()]
        self.spans = [(float(line[1]), line[2].split("-")[2], line[3]) for line in lines if line[0] == "span"]
        self._late = [(float(line[1]), float(line[2])) for line in lines if line[0] == "late"]

    def before(self, killed):
        """The ids of the spans that must be in the file: the machine's own lateness counts for the leader."""
        late = max((seconds for at, seconds in self._late if at > killed - 2.0), default=0.0)
        return {span: name for at, span, name in self.spans if at < killed - OWED - late}


@pytest.fixture
def collector(monkeypatch, tmp_path):
    with Collector() as made:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", made.endpoint)
        monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
        monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_on")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "60")  # the collector shares a busy machine with its clients
        yield made


def test_a_hand_off_after_a_kill_is_told_whole(etcd, prefix, tmp_path, collector, monkeypatch):
    with harness.crew(etcd.connection, prefix, tmp_path) as crew:
        crew.timing = STEADY
        crew.create(nodes(3))
        monkeypatch.setenv("NOTED_SPANS", str(tmp_path / "noted"))
        killed = crew.start("killed", launcher="noted_spans")
        crew.until_leads(killed, within=60.0)
        others = [crew.start(name) for name in ("one", "two")]
        crew.until_ready(*others, within=60.0)
        eventually(lambda: all(it.watches_over == "killed" for it in others), within=60.0, what="evidence can be had")
        crew.create(pods(0, 5))
        crew.until_bound(5, within=60.0)
        eventually(
            lambda: len(killed.spans(RENEW)) >= 2 and len(killed.spans(STORY)) >= 5,
            within=60.0,
            what="the leader has renewed, and told of its pods",
        )
        at = CLOCK.wall()
        killed.end()
        successor = eventually(lambda: next((it for it in others if it.leads), None), within=60.0, what="a successor")
        crew.create(pods(5, 5))
        crew.until_bound(10, within=60.0)

        def told():
            names = {(span.instance, span.name) for span in collector.received()}
            return {(successor.identity, name) for name in (BARRIER, BIND, STORY)} <= names

        eventually(told, within=60.0, what="the successor's spans arrive")
        tokens = [crew.ledger().terms.by_token[token] for token in sorted(crew.ledger().terms.by_token)]
        for replica in others:
            if replica is not successor:
                replica.terminate()
                assert replica.wait_for_end(60.0) == 0
        successor.terminate()
        assert successor.wait_for_end(60.0) == 0
    received, file = collector.received(), read_files([killed.trace])

    missing = Noted(tmp_path / "noted").before(at).items() - {(span.span_id, span.name) for span in file}
    assert missing == set()
    spans = {span.span_id: span for span in (*received, *file)}
    assert [problem for span in spans.values() for problem in violations(span)] == []
    assert {span.name: link for span in spans.values() for link in span.links if link not in spans} == {}
    in_order = [span for span in spans.values() if span.instance != "killed" and span.parent]
    assert in_order
    assert {span.name: span.parent for span in in_order if span.parent not in spans} == {}
    assert {(span.instance, span.service) for span in received} <= {
        (name, "lockd-replica") for name in ("killed", "one", "two")
    }

    (handoff,) = handoffs(tuple(spans.values()))
    first, second = tokens
    assert (
        (handoff.predecessor, handoff.successor) == ("killed", successor.identity) == (first.identity, second.identity)
    )
    assert (handoff.predecessor_token, handoff.token) == (first.token, second.token)
    assert handoff.by == "evidence"
    assert all(seconds is not None and seconds >= 0 for seconds in handoff.phases.values())

    stories = {span.attributes["pod"]: span for span in spans.values() if span.name == STORY}
    assert stories.keys() == {f"default/pod-{number}" for number in range(10)}
    for span in stories.values():
        told_of = [event.name for event in span.events]
        assert told_of == ["created", "queued", "attempt", "placed", "batch", "bound"]
        (batch,) = span.linked("bind_batch")
        assert spans[batch].name == BIND
        (anchor,) = span.linked("leadership_term")
        assert spans[anchor].attributes["token"] == span.attributes["token"]
