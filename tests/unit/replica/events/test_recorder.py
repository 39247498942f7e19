"""Events as recorded, broadcast, logged, and named by their term."""

from __future__ import annotations

import json
import threading

import pytest

from component.clock import SystemClock
from lockd.fencing import Token
from lockd.ports import KeyValue, LockName
from replica.api.codec import decode
from replica.api.events import WARNING, Event, Reference
from replica.api.kinds import EVENT
from replica.api.nodes import Node
from replica.api.pods import Pod
from replica.events.broadcaster import Broadcaster
from replica.events.log import EventLog
from replica.events.recorder import Recorder
from replica.events.term import TermEvents
from tests.harness.clock import ManualClock

POD = Pod(name="a", namespace="shop", uid="uid-a", mod_revision=17)
NODE = Node(name="node-1", uid="uid-1")


@pytest.fixture
def clock():
    return ManualClock(0.5)


@pytest.fixture
def published():
    return []


@pytest.fixture
def recorder(published, clock):
    return Recorder(published.append, controller="default-scheduler", instance="host_1", clock=clock)


def test_an_event_says_who_saw_what_when(recorder, published):
    recorder.event(POD, reason="Scheduled", note="bound", action="Binding", related=NODE)
    (event,) = published
    assert event.regarding == Reference("Pod", "shop", "a", "uid-a", "v1", "17")
    assert event.related == Reference("Node", "", "node-1", "uid-1", "v1")
    assert (event.namespace, event.reason, event.note, event.action) == ("shop", "Scheduled", "bound", "Binding")
    assert (event.type, event.controller, event.instance) == ("Normal", "default-scheduler", "host_1")
    assert event.time == event.created == "2023-11-14T22:13:20.500000Z"


def test_events_about_what_has_no_namespace_stand_in_default(recorder, published):
    recorder.event(NODE, reason="X", note="x", action="X")
    assert published[0].namespace == "default"


def test_election_events_read_like_kube_schedulers(recorder, published):
    lock = LockName("/lockd", "kube-system", "kube-scheduler")
    began, ended = recorder.became_leader(lock), recorder.stopped_leading(lock)
    assert (began.reason, began.note, ended.note) == (
        "LeaderElection",
        "host_1 became leader",
        "host_1 stopped leading",
    )
    assert began.regarding == Reference("Lease", "kube-system", "kube-scheduler", api_version="coordination.k8s.io/v1")
    assert published == []  # they ride in transactions


def test_every_subscriber_gets_every_event_in_order(recorder, clock):
    broadcaster = Broadcaster(clock=clock)
    first, second = broadcaster.subscribe("first"), broadcaster.subscribe("second")
    events = [recorder.make(POD, reason=str(number), note="", action="") for number in range(5)]
    for event in events:
        broadcaster.publish(event)
    stop = threading.Event()
    assert first.take(3, stop, 0) == events[:3]
    assert first.take(3, stop, 0) == events[3:]
    assert second.take(10, stop, 0) == events
    assert second.take(10, stop, 0) == []


def test_a_full_buffer_drops_and_counts_and_harms_nobody_else(recorder, clock):
    broadcaster = Broadcaster(clock=clock)
    slow, quick = broadcaster.subscribe("slow", capacity=2), broadcaster.subscribe("quick")
    events = [recorder.make(POD, reason=str(number), note="", action="") for number in range(5)]
    for event in events:
        broadcaster.publish(event)
    stop = threading.Event()
    assert (slow.dropped, quick.dropped) == (3, 0)
    assert slow.take(10, stop, 0) == events[:2]
    assert quick.take(10, stop, 0) == events


def test_what_waits_when_it_closes_can_still_be_taken(recorder, clock):
    broadcaster = Broadcaster(clock=clock)
    subscription = broadcaster.subscribe("log")
    event = recorder.make(POD, reason="", note="", action="")
    broadcaster.publish(event)
    broadcaster.close()
    broadcaster.publish(event)
    assert not subscription.closed
    assert subscription.take(10, threading.Event(), 9e9) == [event]
    assert subscription.closed
    assert subscription.take(10, threading.Event(), 9e9) == []


def test_the_first_waits_for_others_until_there_are_enough(recorder, clock):
    subscription = Broadcaster(clock=clock).subscribe("sink")
    events = [recorder.make(POD, reason=str(number), note="", action="") for number in range(3)]
    taken = []
    taker = threading.Thread(
        target=lambda: taken.append(subscription.take(2, threading.Event(), 9e9, linger=9e9)), daemon=True
    )
    subscription.put(events[:1])
    taker.start()
    subscription.put(events[1:])
    taker.join(60.0)
    assert taken == [events[:2]]


def test_the_first_waits_for_others_only_so_long(recorder):
    subscription = Broadcaster(clock=SystemClock()).subscribe("sink")
    event = recorder.make(POD, reason="", note="", action="")
    subscription.put([event])
    assert subscription.take(9, threading.Event(), 60.0, linger=0.01) == [event]


def test_nothing_is_waited_for_once_it_is_closed_or_stopped(recorder, clock):
    broadcaster = Broadcaster(clock=clock)
    first, second = broadcaster.subscribe("first"), broadcaster.subscribe("second")
    event = recorder.make(POD, reason="", note="", action="")
    broadcaster.publish(event)
    stop = threading.Event()
    stop.set()
    assert first.take(9, stop, 9e9, linger=9e9) == [event]
    broadcaster.close()
    assert second.take(9, threading.Event(), 9e9, linger=9e9) == [event]


def test_the_log_shows_warnings_and_leaders_and_keeps_the_rest_for_debugging(recorder, clock, caplog):
    broadcaster = Broadcaster(clock=clock)
    log = EventLog(broadcaster.subscribe("log"))
    broadcaster.publish(recorder.make(POD, reason="Scheduled", note="", action=""))
    broadcaster.publish(recorder.make(POD, reason="FailedScheduling", note="0/5", action="", type=WARNING))
    broadcaster.publish(recorder.became_leader(LockName("/lockd", "kube-system", "kube-scheduler")))
    broadcaster.close()
    with caplog.at_level("DEBUG", logger="replica.events.log"):
        log.run(threading.Event())
    assert [record.levelname for record in caplog.records] == ["DEBUG", "INFO", "INFO"]


def test_a_terms_events_have_names_of_their_own_and_can_be_read_back(recorder):
    term = TermEvents("/lockd", Token(41))
    event = recorder.make(POD, reason="Scheduled", note="bound", action="Binding", related=NODE)
    first, second = term.write(event, 7), term.put(event, 7)
    assert (first.key, second.key) == ("/lockd/events/shop/41-1", "/lockd/events/shop/41-2")
    assert (first.mod_revision, first.lease, second.lease) == (0, 7, 7)
    read = decode(EVENT, KeyValue(first.key, first.value, 50, 50))
    assert isinstance(read, Event)
    assert (read.name, read.namespace, read.token) == ("41-1", "shop", 41)
    assert (read.regarding, read.related, read.note) == (event.regarding, event.related, "bound")
    assert json.loads(event.manifest())["reportingInstance"] == "host_1"


def test_no_two_events_have_one_uid(recorder):
    term = TermEvents("/lockd", Token(41))
    event = recorder.make(POD, reason="", note="", action="")
    uids = {decode(EVENT, KeyValue(put.key, put.value, 1)).uid for put in (term.put(event, 0) for _ in range(10))}
    assert len(uids) == 10
