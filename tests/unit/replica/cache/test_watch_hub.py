"""The watch hub on an etcd in memory: routes, markers, lists anew, and the degraded state."""

from __future__ import annotations

import threading

import pytest

from component.lifecycle import Group
from lockd.errors import Compacted, HistoryLost, NoSpace, PermissionDenied, Unavailable
from lockd.etcd.cursor import Cursor, Frame
from lockd.etcd.model import WatchEvent, WatchInterrupted, WatchProgress, WatchTarget
from replica.cache.barrier import Barrier
from replica.cache.inbox import Inbox
from replica.cache.watch_hub import WatchHub
from tests.harness.fake_etcd import FakeEtcd
from tests.harness.stored import PREFIX
from tests.harness.wait import eventually


class Recorded:
    """A route that notes what it is given."""

    def __init__(self):
        self.steps = []
        self.marks = []
        self.steps_at = {}
        """How many steps there were at each mark."""

    def replace(self, kvs, revision):
        self.steps.append(("replace", {kv.key: kv.value for kv in kvs}, revision))

    def apply(self, events):
        self.steps.extend(("event", event.key, event.value, event.mod_revision) for event in events)

    def mark(self, revision):
        self.marks.append(revision)
        self.steps_at[revision] = len(self.steps)

    @property
    def state(self):
        """What the steps add up to."""
        held = {}
        for name, *arguments in self.steps:
            if name == "replace":
                held = dict(arguments[0])
            elif arguments[1] is None:
                held.pop(arguments[0], None)
            else:
                held[arguments[0]] = arguments[1]
        return held


class Rig:
    def __init__(self, **options):
        self.etcd = FakeEtcd()
        self.barrier = Barrier()
        self.hub = WatchHub(self.etcd, PREFIX, self.barrier, **options)
        self.pods, self.terms = Recorded(), Recorded()
        self.hub.route("pods", self.pods)
        self.hub.route("terms", self.terms)
        self.group = Group("test")
        self.expected_failure = None

    def start(self):
        self.group.spawn("hub", self.hub.run, self.group.stop)
        return self

    def synced(self):
        self.start()
        self.reaches(self.etcd.revision)
        eventually(lambda: self.hub._watch is not None, within=10, what="the watch that follows the list")
        return self

    def reaches(self, revision):
        eventually(lambda: self.hub.applied >= revision, within=10, what=f"applied {revision}")

    def end(self):
        self.group.request_stop()
        self.hub.close()
        assert self.group.join(30) == ()
        assert type(self.group.failure) is type(self.expected_failure)


@pytest.fixture
def make():
    rigs = []

    def made(**options):
        rigs.append(Rig(**options))
        return rigs[-1]

    yield made
    for rig in rigs:
        rig.end()


@pytest.fixture
def rig(make):
    return make()


A, B, T = f"{PREFIX}/pods/default/a", f"{PREFIX}/pods/default/b", f"{PREFIX}/terms/ns/name"


def test_a_list_then_a_watch_from_the_next_revision(rig):
    rig.etcd.put(A, b"1")
    rig.etcd.put(T, b"t")
    rig.synced()
    revision = rig.etcd.put(A, b"2")
    rig.reaches(revision)
    assert rig.pods.steps == [("replace", {A: b"1"}, revision - 1), ("event", A, b"2", revision)]
    assert rig.terms.steps == [("replace", {T: b"t"}, revision - 1)]
    assert rig.etcd.watch_now.target == WatchTarget(
        f"{PREFIX}/", prefix=True, start_revision=revision, start=f"{PREFIX}/history/"
    )


def test_all_lists_are_of_one_revision(rig):
    rig.etcd.put(A, b"1")
    listed = rig.etcd.list

    def list_and_write(prefix, **options):
        found = listed(prefix, **options)
        rig.etcd.put(A, b"2")
        rig.etcd.put(T, b"t")
        return found

    rig.etcd.list = list_and_write
    rig.start()
    rig.reaches(5)
    assert rig.pods.steps[0] == ("replace", {A: b"1"}, 2)
    assert rig.terms.steps[0] == ("replace", {}, 2)
    assert rig.pods.state == {A: b"2"}
    assert rig.terms.state == {T: b"t"}


def test_every_kind_gets_every_marker(rig):
    rig.synced()
    first = rig.etcd.put(A, b"1")
    rig.reaches(first)
    second = rig.etcd.put(T, b"t")
    rig.reaches(second)
    eventually(lambda: rig.barrier.applied >= second, within=10)
    assert first in rig.terms.marks
    assert second in rig.pods.marks
    assert rig.pods.marks == sorted(rig.pods.marks)


def test_keys_without_a_route_are_passed_over_and_move_the_marker_all_the_same(rig):
    rig.synced()
    revision = rig.etcd.put(f"{PREFIX}/leases/ns/name", b"x")
    rig.reaches(revision)
    rig.etcd.put(f"{PREFIX}/odd", b"x")
    assert rig.pods.steps[1:] == []


def test_events_are_not_watched_and_what_follows_them_moves_the_marker_past_them(rig):
    rig.synced()
    told = []
    deliver = rig.etcd.watch_now.deliver
    rig.etcd.watch_now.deliver = lambda item: (told.append(item), deliver(item))
    for number in range(3):
        rig.etcd.put(f"{PREFIX}/events/default/1-{number}", b"x")
    renewal = rig.etcd.put(f"{PREFIX}/history/ns/name", b"x")
    rig.reaches(renewal)
    assert [event.key for item in told for event in item.events] == [f"{PREFIX}/history/ns/name"]


def test_a_route_before_those_of_terms_is_watched_as_well(make):
    rig = make()
    candidates = Recorded()
    rig.hub.route("candidates", candidates)
    rig.synced()
    revision = rig.etcd.put(f"{PREFIX}/candidates/ns/name/x", b"x")
    rig.reaches(revision)
    assert candidates.state == {f"{PREFIX}/candidates/ns/name/x": b"x"}


def test_changes_of_one_transaction_arrive_whole_before_its_marker(rig):
    rig.synced()
    revision = rig.etcd.put_all([(A, b"1"), (B, b"1"), (T, b"t")])
    eventually(lambda: rig.barrier.applied == revision, within=10)
    assert [step[1] for step in rig.pods.steps[1:]] == [A, B]
    assert [step[1] for step in rig.terms.steps[1:]] == [T]
    assert (rig.pods.steps_at[revision], rig.terms.steps_at[revision]) == (3, 2)


def test_a_segment_has_one_route(rig):
    with pytest.raises(ValueError, match="pods"):
        rig.hub.route("pods", Recorded())


# --- P8: what counts as applied


def test_p8_a_piece_of_a_response_moves_no_marker(rig):
    """A response that etcd split counts when its last piece is there: neither its events nor its revision before."""
    rig.synced()
    before = rig.hub.applied
    target = rig.etcd.watch_now.target
    cursor = Cursor([target])
    (create,) = cursor.open()

    def arrive(*events, fragment):
        frame = Frame(watch_id=create.watch_id, revision=before + 2, events=events, fragment=fragment)
        for item in cursor.take(frame, ordered=False):
            rig.etcd.watch_now.deliver(item)

    for item in cursor.take(Frame(watch_id=create.watch_id, revision=before, created=True), ordered=False):
        rig.etcd.watch_now.deliver(item)
    arrive(WatchEvent(A, b"1", before + 1, before + 1), fragment=True)
    arrive(WatchEvent(B, b"1", before + 2, before + 2), fragment=True)
    assert rig.hub.applied == before
    assert not rig.barrier.wait(before + 1, threading.Event(), 0.05)
    arrive(WatchEvent(T, b"t", before + 2, before + 2), fragment=False)
    rig.reaches(before + 2)
    assert rig.pods.state == {A: b"1", B: b"1"}


def test_each_route_is_given_its_own_in_the_order_of_revisions(rig):
    rig.synced()
    keys = (A, T, A, "/unread/x", B, "no-slash", T)
    events = [WatchEvent(key if key[0] == "/" else f"{PREFIX}/{key}", b"", number) for number, key in enumerate(keys)]
    found = {}
    rig.hub._sort(events, found)
    assert {
        segment: [event.mod_revision for event in each]
        for segment, each in found.items()
        if segment in {"pods", "terms"}
    } == {"pods": [0, 2, 4], "terms": [1, 6]}
    assert sum(map(len, found.values())) == len(keys)


def test_p8_progress_moves_the_marker(rig):
    rig.synced()
    rig.etcd.watch_now.deliver(WatchProgress(rig.etcd.watch_now.target, 900))
    rig.reaches(900)
    assert rig.pods.marks[-1] == 900


def test_p8_a_list_at_or_after_the_token_is_as_good_as_its_event(rig):
    """The watch is compacted at takeover, so the event of one's own acquisition never comes."""
    rig.synced()
    rig.etcd.watch_now.hold()
    token = rig.etcd.put(T, b"mine")
    assert not rig.barrier.wait(token, threading.Event(), 0.05)
    rig.etcd.watch_now.drop()
    rig.etcd.break_watch()
    assert rig.barrier.wait(token, threading.Event(), 10)
    assert ("replace", {T: b"mine"}, token) in rig.terms.steps


def test_p8_a_watch_that_lags_is_moved_to_another_member(rig):
    rig.synced()
    watch = rig.etcd.watch_now
    watch.hold()
    watch.lagging = True
    token = rig.etcd.put(T, b"mine")
    assert not rig.barrier.wait(token, threading.Event(), 0.05)
    rig.hub.reopen()
    assert rig.barrier.wait(token, threading.Event(), 10)
    assert watch.reopened == 1


# --- listing anew


def test_a_compacted_watch_lists_anew_and_goes_on_from_there(rig):
    rig.etcd.put_all([(A, b"1"), (B, b"1")])
    rig.synced()
    rig.etcd.watch_now.hold()
    rig.etcd.delete(A)
    rig.etcd.put(B, b"2")
    rig.etcd.watch_now.drop()
    rig.etcd.break_watch()
    eventually(lambda: len(rig.etcd.watches) == 2, within=10)
    revision = rig.etcd.put(A, b"3")
    rig.reaches(revision)
    assert rig.pods.state == {A: b"3", B: b"2"}
    assert rig.hub.lists == 2


def test_a_watch_refused_at_once_as_compacted_does_the_same(rig):
    rig.etcd.put(A, b"1")
    listed, late = rig.etcd.list, iter(range(10))

    def list_then_compact(prefix, **options):
        found = listed(prefix, **options)
        if prefix.endswith("terms/") and next(late) == 0:
            rig.etcd.put(A, b"2")
            rig.etcd.put(A, b"3")
            rig.etcd.compact(rig.etcd.revision, timeout=1)
        return found

    rig.etcd.list = list_then_compact
    rig.start()
    eventually(lambda: rig.pods.state == {A: b"3"}, within=10)
    eventually(lambda: rig.hub.lists == 2, within=10, what="the list that brought it is complete")


def test_history_that_goes_during_a_list_begins_it_again(rig):
    listed, calls = rig.etcd.list, []

    def list_once_compacted(prefix, **options):
        calls.append(prefix)
        if len(calls) == 2:
            raise Compacted("gone", compact_revision=9)
        return listed(prefix, **options)

    rig.etcd.list = list_once_compacted
    rig.synced()
    assert calls == [f"{PREFIX}/{segment}/" for segment in ("pods", "terms", "pods", "terms")]
    assert rig.hub.lists == 1


def test_a_watch_far_behind_lists_rather_than_replays(make):
    rig = make(far_behind=10).synced()
    watch = rig.etcd.watch_now
    watch.hold()
    for number in range(30):
        rig.etcd.put(A, str(number).encode())
    watch.drop()  # what a slow replay has not brought yet
    rig.etcd.interrupt(Unavailable("member died"))
    rig.reaches(rig.etcd.revision)
    assert rig.hub.lists == 2
    assert rig.pods.state == {A: b"29"}


def test_a_watch_that_is_a_little_behind_replays(make):
    rig = make(far_behind=10).synced()
    watch = rig.etcd.watch_now
    watch.hold()
    for number in range(5):
        rig.etcd.put(A, str(number).encode())
    watch._sink(WatchInterrupted(Unavailable("member died")))
    eventually(rig.hub.problem, within=10)
    watch.release()
    rig.reaches(rig.etcd.revision)
    assert rig.hub.lists == 1
    assert [step[2] for step in rig.pods.steps[1:]] == [b"0", b"1", b"2", b"3", b"4"]


def test_more_than_may_wait_is_listed_rather_than_worked_off(make):
    rig = make(inbox=Inbox(limit=100)).synced()
    blocked, let_go = threading.Event(), threading.Event()
    apply = rig.pods.apply

    def slow(events):
        blocked.set()
        let_go.wait(30)
        apply(events)

    rig.pods.apply = slow
    rig.etcd.put(A, b"first")
    assert blocked.wait(30)
    for number in range(300):
        rig.etcd.put(A, str(number).encode())
    let_go.set()
    rig.reaches(rig.etcd.revision)
    assert rig.hub.lists == 2
    assert rig.pods.state == {A: b"299"}


def test_what_a_watch_brings_after_its_end_is_ignored(rig):
    rig.synced()
    first = rig.etcd.watch_now
    rig.hub.relist("for the test")
    eventually(lambda: len(rig.etcd.watches) == 2, within=10)
    applied = rig.hub.applied
    first._sink(WatchProgress(first.target, applied + 100))
    rig.reaches(rig.etcd.put(A, b"1"))
    assert rig.hub.applied < applied + 100


# --- states and ends


@pytest.mark.parametrize("error", [Unavailable("no leader"), NoSpace("database space exceeded")])
def test_etcd_away_is_a_state_that_ends_by_itself(rig, error, caplog):
    rig.etcd.failure = error
    rig.start()
    problem = eventually(rig.hub.problem, within=10)
    eventually(lambda: "degraded" in rig.hub.problem(), within=10)
    assert problem
    assert str(error) in rig.hub.problem()
    rig.etcd.failure = None
    eventually(lambda: rig.hub.problem() is None, within=10)
    assert [
        r.getMessage() for r in caplog.records if r.name == "replica.cache.watch_hub" and r.levelname == "WARNING"
    ] == ["caches are degraded"]


def test_an_interrupted_watch_is_degraded_until_something_arrives(rig):
    rig.etcd.put(A, b"1")
    rig.synced()
    assert rig.hub.problem() is None
    rig.etcd.interrupt(Unavailable("silent for 4.0 s"))
    assert "silent for 4.0 s" in eventually(rig.hub.problem, within=10)
    assert rig.pods.state == {A: b"1"}  # readers go on
    rig.etcd.put(A, b"2")
    eventually(lambda: rig.hub.problem() is None, within=10)


def test_before_the_first_list_it_is_not_ready(make):
    assert make().hub.problem() == "the first list is not complete"


def test_another_history_ends_the_replica(rig):
    rig.synced()
    rig.expected_failure = HistoryLost("restored")
    rig.etcd.interrupt(rig.expected_failure)
    eventually(lambda: rig.group.failure, within=10)


def test_another_history_found_by_a_list_ends_it_too(rig):
    rig.etcd.failure = rig.expected_failure = HistoryLost("restored")
    rig.start()
    eventually(lambda: rig.group.failure, within=10)


def test_a_user_without_permission_ends_the_start_and_only_that(rig, make):
    rig.etcd.failure = rig.expected_failure = PermissionDenied("no")
    rig.start()
    eventually(lambda: rig.group.failure, within=10)
    later = make().synced()
    later.etcd.failure = PermissionDenied("no")
    later.hub.relist("for the test")
    assert "PermissionDenied" in eventually(later.hub.problem, within=10)
    later.etcd.failure = None
    eventually(lambda: later.hub.problem() is None, within=10)


def test_its_watch_ends_with_it(rig):
    rig.synced()
    rig.group.request_stop()
    rig.hub.close()
    assert rig.group.join(30) == ()
    assert rig.etcd.watch_now.cancelled
