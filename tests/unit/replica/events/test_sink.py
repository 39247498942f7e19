"""Events are stored by the term in force, by no other, and expire."""

from __future__ import annotations

import threading

import pytest

from lockd.errors import Fenced, LeaseNotFound, NoSpace, OutcomeUnknown, Rejected, TooLarge, Unavailable
from lockd.fencing import GuardedReply, ObjectWrite, Token, WriteResult
from lockd.ports import KeyValue
from replica.api.codec import decode
from replica.api.kinds import EVENT
from replica.api.pods import Pod
from replica.events.broadcaster import Broadcaster
from replica.events.correlator import REFRESH
from replica.events.leases import AT_HAND_SECONDS, EVENT_SECONDS, SHARED_SECONDS, EventLeases
from replica.events.recorder import Recorder
from replica.events.sink import ATTEMPTS, BATCH, EventSink
from replica.events.term import TermEvents
from tests.harness.clock import ManualClock
from tests.harness.wait import eventually

POD = Pod(name="a", namespace="shop", uid="uid-a")


def puts(write):
    """What a write puts, each as a write of its own: those that ride with it have no revision to be compared."""
    return [write, *(ObjectWrite(each.key, 0, each.value, each.lease) for each in write.riders)]


class Store:
    """What a term's writes reach: it answers from a script, and well once that has ended.

    Attributes:
        sent: The writes of each call.
        calls: What each call was to put.
    """

    def __init__(self):
        self.script = []
        self.sent = []
        self.calls = []
        self.written = {}
        self.revision = 50

    def write(self, writes):
        self.sent.append(list(writes))
        self.calls.append([each for write in writes for each in puts(write)])
        answer = self.script.pop(0) if self.script else "ok"
        if isinstance(answer, Exception):
            raise answer
        if answer == "fenced":
            return GuardedReply(fenced=True, revision=9, results=())
        self.revision += 1
        results = tuple(map(self._one, writes))
        if answer == "lose the answer":
            raise OutcomeUnknown("x")
        return GuardedReply(fenced=False, revision=self.revision, results=results)

    def _one(self, write):
        found = self.written.get(write.key)
        if (found.mod_revision if found is not None else 0) != write.mod_revision:
            return WriteResult(applied=False, objects=(found,))
        for each in puts(write):
            self.put(each.key, each.value, each.lease)
        return WriteResult(applied=True)

    def put(self, key, value, lease=0):
        self.written[key] = KeyValue(key, value, self.revision, self.revision, 1, lease)

    def events(self):
        return [decode(EVENT, kv) for kv in self.written.values()]


class Grants:
    def __init__(self):
        self.ttls = []
        self.error = None

    def __call__(self, ttl):
        if self.error:
            raise self.error
        self.ttls.append(ttl)
        return 100 + len(self.ttls)


class Impatient(ManualClock):
    """Waits by moving on."""

    def wait(self, stop, seconds):
        self.advance(seconds)
        return stop.is_set()


@pytest.fixture
def clock():
    return Impatient()


@pytest.fixture
def grants():
    return Grants()


@pytest.fixture
def leases(grants, clock):
    return EventLeases(grants, clock=clock)


@pytest.fixture
def store():
    return Store()


@pytest.fixture
def broadcaster(clock):
    return Broadcaster(clock=clock)


@pytest.fixture
def recorder(broadcaster, clock):
    return Recorder(broadcaster.publish, controller="c", instance="i", clock=clock)


@pytest.fixture
def sink(broadcaster, leases, clock):
    return EventSink(broadcaster.subscribe("sink"), leases, clock=clock, draw=lambda: 0.6)


def record(recorder, count):
    return [recorder.event(POD, reason=f"R{number}", note="n", action="a") for number in range(count)]


def run(sink, broadcaster):
    broadcaster.close()
    sink.run(threading.Event())


def test_a_standby_writes_nothing(sink, broadcaster, recorder, store):
    record(recorder, 3)
    run(sink, broadcaster)
    assert store.calls == []


def test_a_leader_writes_all_in_batches_under_its_token(sink, broadcaster, recorder, store):
    sink.lead(TermEvents("/lockd", Token(41)), store.write)
    record(recorder, 2 * BATCH + 1)
    run(sink, broadcaster)
    assert [len(call) for call in store.calls] == [BATCH, BATCH, 1]
    assert list(store.written) == [f"/lockd/events/shop/41-{number}" for number in range(1, 2 * BATCH + 2)]
    assert all(write.mod_revision == 0 for call in store.calls for write in call)


def test_new_events_are_one_write_of_which_the_first_is_compared(sink, broadcaster, recorder, store):
    sink.lead(TermEvents("/lockd", Token(41)), store.write)
    record(recorder, 5)
    run(sink, broadcaster)
    ((write,),) = store.sent
    assert (write.key, write.mod_revision, len(write.riders)) == ("/lockd/events/shop/41-1", 0, 4)
    assert {each.lease for each in store.calls[0]} == {write.lease}


def test_what_an_earlier_copy_has_created_is_known_again(leading, recorder, store, clock):
    store.script = ["lose the answer"]
    leading.store([recorder.make(POD, reason=reason, note="n", action="a") for reason in "abc"], STOP)
    assert [len(call) for call in store.calls] == [3, 3]
    assert store.calls[0] == store.calls[1]
    happens(recorder, leading, reason="c")
    assert [(write.key, write.mod_revision) for write in store.calls[-1]] == [("/lockd/events/shop/41-3", 51)]
    assert [event.count for event in store.events()] == [1, 1, 2]


def test_new_events_and_series_go_apart(leading, recorder, store):
    happens(recorder, leading, reason="a")
    leading.store([recorder.make(POD, reason=reason, note="n", action="a") for reason in "abc"], STOP)
    assert [[write.mod_revision for write in call] for call in store.calls] == [[0], [0, 0], [51]]
    assert [[len(write.riders) for write in sent] for sent in store.sent] == [[0], [1], [0]]
    assert [event.count for event in store.events()] == [2, 1, 1]


def test_names_that_are_taken_are_left_to_whoever_has_them(leading, recorder, store):
    store.put("/lockd/events/shop/41-1", b"somebody else's")
    leading.store([recorder.make(POD, reason=reason, note="n", action="a") for reason in "ab"], STOP)
    assert {key: kv.value for key, kv in store.written.items()} == {"/lockd/events/shop/41-1": b"somebody else's"}
    happens(recorder, leading, reason="b")
    assert list(store.written) == ["/lockd/events/shop/41-1", "/lockd/events/shop/41-3"]


def test_a_lost_leader_writes_none(sink, broadcaster, recorder, store):
    sink.lead(TermEvents("/lockd", Token(41)), store.write)
    record(recorder, 3)
    sink.follow()
    run(sink, broadcaster)
    assert store.calls == []


@pytest.mark.parametrize("refusal", ["fenced", Fenced("over", token=41)])
def test_a_refused_guard_ends_its_writing(sink, broadcaster, recorder, store, refusal):
    sink.lead(TermEvents("/lockd", Token(41)), store.write)
    store.script = [refusal]
    record(recorder, BATCH + 5)
    run(sink, broadcaster)
    assert len(store.calls) == 1
    assert store.written == {}


@pytest.mark.parametrize("error", [Unavailable("x"), OutcomeUnknown("x"), NoSpace("x")])
def test_a_failed_batch_is_written_again_as_it_was(sink, broadcaster, recorder, store, error):
    sink.lead(TermEvents("/lockd", Token(41)), store.write)
    store.script = [error] * (ATTEMPTS - 1)
    record(recorder, 3)
    before = sink._clock.now()
    run(sink, broadcaster)
    assert len(store.calls) == ATTEMPTS
    assert all(call == store.calls[0] for call in store.calls)  # the etcd lease too, though a minute has passed
    assert len(store.written) == 3
    assert sink._clock.now() - before == (ATTEMPTS - 1) * 6.0  # of ten seconds the share that was drawn


def test_after_its_attempts_a_batch_is_dropped_and_the_next_one_written(sink, broadcaster, recorder, store):
    sink.lead(TermEvents("/lockd", Token(41)), store.write)
    store.script = [Unavailable("x")] * ATTEMPTS
    record(recorder, BATCH + 1)
    run(sink, broadcaster)
    assert len(store.calls) == ATTEMPTS + 1
    assert list(store.written) == [f"/lockd/events/shop/41-{BATCH + 1}"]


def test_a_refusal_that_would_be_repeated_is_not_tried_again(sink, broadcaster, recorder, store):
    sink.lead(TermEvents("/lockd", Token(41)), store.write)
    store.script = [Rejected("no")]
    record(recorder, 1)
    run(sink, broadcaster)
    assert len(store.calls) == 1


def test_a_batch_that_is_too_large_is_halved(sink, broadcaster, recorder, store):
    sink.lead(TermEvents("/lockd", Token(41)), store.write)
    store.script = [TooLarge("x"), "ok", TooLarge("x")]
    record(recorder, 4)
    run(sink, broadcaster)
    assert [len(call) for call in store.calls] == [4, 2, 2, 1, 1]
    assert len(store.written) == 4


def test_a_term_that_ends_during_the_retries_ends_them(sink, broadcaster, recorder, store):
    def write(writes):
        sink.follow()
        return store.write(writes)

    sink.lead(TermEvents("/lockd", Token(41)), write)
    store.script = [Unavailable("x")]
    record(recorder, 1)
    run(sink, broadcaster)
    assert len(store.calls) == 1


def test_a_lease_that_is_gone_is_replaced_and_the_names_stay(sink, broadcaster, recorder, store, leases):
    lease = leases.current()
    sink.lead(TermEvents("/lockd", Token(41)), store.write)
    store.script = [LeaseNotFound("gone")]
    record(recorder, 2)
    run(sink, broadcaster)
    first, second = store.calls
    assert [write.lease for write in first] == [lease] * 2
    assert [write.lease for write in second] == [lease + 1] * 2
    assert [write.key for write in first] == [write.key for write in second]


@pytest.mark.parametrize("error", [Unavailable("x"), LeaseNotFound("x")])
def test_no_event_is_stored_that_would_never_expire(sink, broadcaster, recorder, grants, error):
    calls = []
    sink.lead(TermEvents("/lockd", Token(41)), calls.append)
    grants.error = error
    record(recorder, 1)
    run(sink, broadcaster)
    assert calls == []


def test_the_sink_ends_when_stopped(sink):
    stop = threading.Event()
    thread = threading.Thread(target=sink.run, args=(stop,))
    thread.start()
    stop.set()
    thread.join(30)
    assert not thread.is_alive()


# --- series


@pytest.fixture
def leading(sink, store):
    sink.lead(TermEvents("/lockd", Token(41)), store.write)
    return sink


STOP = threading.Event()


def happens(recorder, sink, *, reason="FailedScheduling"):
    sink.store([recorder.make(POD, reason=reason, note="n", action="a")], STOP)


def test_isomorphic_events_are_one_object_that_counts(leading, recorder, store, clock):
    happens(recorder, leading)
    for _ in range(5):
        clock.advance(10)
        happens(recorder, leading)
    assert [[write.mod_revision for write in call] for call in store.calls] == [[0], [51]]
    assert [event.count for event in store.events()] == [2]
    clock.advance(REFRESH)
    leading.refresh(STOP)
    (event,) = store.events()
    assert (event.name, event.count, event.token) == ("41-1", 6, 41)
    assert event.last_seen > event.time
    leading.refresh(STOP)
    assert len(store.calls) == 3


def test_a_series_written_again_expires_an_hour_after_that(leading, recorder, store, clock, leases):
    happens(recorder, leading)
    first = leases.at_hand()
    clock.advance(SHARED_SECONDS)
    happens(recorder, leading)
    (kv,) = store.written.values()
    assert kv.lease == leases.at_hand() != first


def test_a_series_whose_event_is_gone_is_stored_under_a_new_name(leading, recorder, store):
    happens(recorder, leading)
    store.written.clear()
    happens(recorder, leading)
    assert [[(write.key, write.mod_revision) for write in call] for call in store.calls[1:]] == [
        [("/lockd/events/shop/41-1", 51)],
        [("/lockd/events/shop/41-2", 0)],
    ]
    assert [event.count for event in store.events()] == [2]


def test_a_series_that_an_earlier_copy_has_written_is_not_written_anew(leading, recorder, store):
    happens(recorder, leading)
    store.script = ["lose the answer"]
    happens(recorder, leading)
    assert [[write.mod_revision for write in call] for call in store.calls] == [[0], [51], [51]]
    assert [(event.name, event.count) for event in store.events()] == [("41-1", 2)]
    happens(recorder, leading)
    leading._clock.advance(REFRESH)
    leading.refresh(STOP)
    assert store.calls[-1][0].mod_revision == 52, "the revision of the copy that was applied"
    assert [(event.name, event.count) for event in store.events()] == [("41-1", 3)]


def test_a_new_term_has_series_of_its_own(leading, recorder, store):
    happens(recorder, leading)
    happens(recorder, leading)
    leading.lead(TermEvents("/lockd", Token(77)), store.write)
    happens(recorder, leading)
    leading._clock.advance(REFRESH + 1)
    leading.refresh(STOP)
    assert [(event.name, event.count) for event in store.events()] == [("41-1", 2), ("77-1", 1)]


def test_a_lost_leader_refreshes_nothing(leading, recorder, store):
    for _ in range(3):
        happens(recorder, leading)
    leading.follow()
    leading._clock.advance(REFRESH)
    leading.refresh(STOP)
    assert len(store.calls) == 2


def test_the_running_sink_refreshes_series(sink, broadcaster, recorder, store, clock):
    sink.lead(TermEvents("/lockd", Token(41)), store.write)
    happens(recorder, sink)
    happens(recorder, sink)
    happens(recorder, sink)
    clock.advance(REFRESH)
    record(recorder, 1)
    run(sink, broadcaster)
    assert [event.count for event in store.events()] == [3, 1]


# --- leases


def test_events_of_a_minute_share_a_lease_that_outlives_each_by_an_hour(leases, grants, clock):
    first = leases.current()
    clock.advance(SHARED_SECONDS - 0.1)
    assert leases.current() == first
    assert grants.ttls == [EVENT_SECONDS + SHARED_SECONDS]
    clock.advance(0.1)
    assert leases.current() != first


def test_a_lease_is_kept_at_hand_at_the_cost_of_few_grants(leases, grants, clock):
    assert leases.at_hand() == 0
    for _ in range(100):
        leases.keep()
        assert leases.at_hand() == 100 + len(grants.ttls)
        clock.advance(AT_HAND_SECONDS / 10)
    assert len(grants.ttls) == 10


def test_a_lease_that_may_be_gone_is_not_at_hand(leases, clock):
    leases.keep()
    clock.advance(EVENT_SECONDS / 2)
    assert leases.at_hand() == 0


def test_a_grant_that_takes_long_keeps_nobody_from_the_lease_at_hand(clock):
    """Whoever releases a term asks for it, perhaps while etcd says nothing."""
    told = []

    def grant(_):
        other = threading.Thread(target=lambda: told.append(leases.at_hand()), daemon=True)
        other.start()
        other.join(5.0)
        return 7

    leases = EventLeases(grant, clock=clock)
    assert leases.current() == 7
    assert told == [0]
    clock.advance(SHARED_SECONDS)
    leases.current()
    assert told == [0, 7]


def test_a_forgotten_lease_is_not_used_again(leases):
    lease = leases.current()
    leases.forget(lease - 1)
    assert leases.at_hand() == lease
    leases.forget(lease)
    assert leases.at_hand() == 0
    assert leases.current() == lease + 1


def test_the_sink_keeps_a_lease_at_hand_before_it_leads(sink, leases):
    stop = threading.Event()
    thread = threading.Thread(target=sink.run, args=(stop,))
    thread.start()
    try:
        sink._clock.advance(2)  # past the idle wait
        eventually(leases.at_hand, within=30)
    finally:
        stop.set()
        thread.join(30)
