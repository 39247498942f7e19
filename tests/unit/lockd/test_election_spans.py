"""What an election tells: spans that conform to the table, and link one term to the next."""

from __future__ import annotations

import threading

import pytest

from component import tracing
from component.clock import SystemClock
from lockd.config import ElectionConfig
from lockd.election_metrics import Unmetered
from lockd.elector import Callbacks, Elector
from lockd.telemetry import ElectionTelemetry
from tests.harness.record_store import LOCK, MemoryRecordStore
from tests.harness.span_model import violations
from tests.harness.told import Told
from tests.harness.wait import eventually

CLOCK = SystemClock()
WITHIN = 30.0


@pytest.fixture
def told(monkeypatch):
    return Told(monkeypatch)


class Candidate:
    """An elector on its thread, with telemetry."""

    def __init__(self, store, identity, *, caller=None, lease=20.0):
        self.leads = threading.Event()
        self.traceparent = tracing.new_traceparent(caller)
        telemetry = ElectionTelemetry(identity, LOCK, CLOCK, quiet=True, numbers=Unmetered(), caller=caller)
        self.elector = Elector(
            ElectionConfig(identity=identity, lease_duration=lease, renew_deadline=lease / 2, retry_period=0.05),
            LOCK,
            store,
            clock=CLOCK,
            traceparent=self.traceparent,
            callbacks=Callbacks(on_started_leading=self._work, on_step=telemetry.step),
        )
        self.thread = threading.Thread(target=self.elector.run, name=f"elector {identity}", daemon=True)
        self.thread.start()

    def _work(self, leadership):
        self.leads.set()
        leadership.draining.wait(WITHIN)

    def until_leads(self):
        assert CLOCK.wait(self.leads, WITHIN)

    def end(self):
        self.elector.request_stop()
        self.thread.join(WITHIN)
        assert not self.thread.is_alive()


def id_of(traceparent):
    return traceparent.split("-")[2]


def test_a_release_and_what_follows_read_as_one_story(told):
    store = MemoryRecordStore()
    caller = tracing.Caller(tracing.new_traceparent(), "vendor=1")
    first = Candidate(store, "first", caller=caller)
    first.until_leads()
    eventually(lambda: told.spans("leader_election.renew"), within=WITHIN)
    second = Candidate(store, "second")
    eventually(lambda: second.elector.election.observed.record, within=WITHIN)
    first.end()
    second.until_leads()
    second.end()

    def of(name, identity):
        return [span for span in told.spans(name) if span.attributes["identity"] == identity]

    assert [problem for span in told.spans() for problem in violations(span)] == []
    (anchor,) = of("leader_election.started_leading", "first")
    assert (anchor.span_id, anchor.parent) == (id_of(first.traceparent), id_of(caller.traceparent))
    (following,) = of("leader_election.started_leading", "second")
    assert following.linked("predecessor_term") == (anchor.span_id,)
    assert following.attributes["takeover"] == "release"
    assert of("leader_election.detection", "first") == []
    (detection,) = of("leader_election.detection", "second")
    (won,) = [span for span in of("leader_election.acquire", "second") if span.attributes["outcome"] == "acquired"]
    assert detection.attributes["by"] == "release"
    assert detection.end == won.start
    for span in (detection, won):
        assert span.linked("predecessor_term") == (anchor.span_id,)
    assert won.linked("leadership_term") == (following.span_id,)
    mine = [span for name in ("renew", "lost", "release") for span in of(f"leader_election.{name}", "first")]
    assert {span.linked("leadership_term") for span in mine} == {(anchor.span_id,)}
    assert {span.name for span in mine} == {f"leader_election.{name}" for name in ("renew", "lost", "release")}


def test_a_transaction_of_several_copies_is_told_once(told):
    store = MemoryRecordStore()
    store.refuse = 3  # an acquire in four copies
    candidate = Candidate(store, "first", lease=5.0)
    candidate.until_leads()
    store.refuse = 2  # and a renewal in three
    (renewed,) = eventually(
        lambda: [span for span in told.spans("leader_election.renew") if span.attributes["copies"] == 3],
        within=WITHIN,
    )
    candidate.end()
    (acquired,) = told.spans("leader_election.acquire")
    assert (acquired.attributes["outcome"], acquired.attributes["copies"]) == ("acquired", 4)
    assert renewed.attributes["outcome"] == "renewed"
    outcomes = [span.attributes["outcome"] for span in told.spans("leader_election.renew")]
    assert set(outcomes[:-1]) <= {"renewed"}, "but for one that the end cut short"
