"""The auditing watch, on a store that is told what to answer."""

import threading

import pytest

from chaos.auditor import GRACE, STEP, Auditor, Collected
from chaos.history import state
from lockd.errors import Compacted, HistoryLost, Unavailable
from lockd.etcd.model import RangeReply, WatchBatch, WatchCompacted, WatchEvent, WatchInterrupted, WatchProgress
from lockd.ports import KeyValue
from tests.harness.clock import ManualClock
from tests.harness.wait import eventually


def put(key, revision, created=None, value=b"x"):
    return WatchEvent(f"/p/{key}", value, revision, created or revision)


def gone(key, revision):
    return WatchEvent(f"/p/{key}", None, revision)


class FakeGateway:
    """One watch, and the keys at a revision."""

    def __init__(self):
        self.kvs = ()
        self.revision = 1
        self.past = {}
        self.followed = []
        self.sink = None

    def watch(self, targets, sink):
        (self.target,) = targets
        self.sink = sink
        return self

    def close(self):
        self.sink = None

    def follow(self, target):
        self.followed.append(target)

    def range(self, key, *, prefix, revision, keys_only, timeout):
        if not revision:
            return RangeReply(self.kvs, len(self.kvs), more=False, revision=self.revision)
        if revision not in self.past:
            raise Compacted("compacted", compact_revision=max(self.past))
        return RangeReply(self.past[revision], 1, more=False, revision=self.revision)

    def stand(self, revision, **mods):
        self.revision = revision
        self.kvs = tuple(KeyValue(f"/p/{key}", b"", mod) for key, mod in mods.items())

    def batch(self, *events):
        self.sink(WatchBatch(self.target, events, events[-1].mod_revision))


@pytest.fixture
def gateway():
    return FakeGateway()


@pytest.fixture
def clock():
    return ManualClock()


def in_background(auditor, within=30.0):
    found = []

    def run():
        try:
            found.append(auditor.history(within=within))
        except Exception as error:  # noqa: BLE001 - handed to the test
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return found


def test_changes_know_which_life_of_a_key_they_belong_to():
    collected = Collected()
    collected.add([("a", put("a", 2)), ("b", put("b", 2)), ("a", put("a", 3, created=2))], 3)
    collected.add([("a", gone("a", 4)), ("a", put("a", 5))], 5)
    changes = collected.history("/p", 5).changes
    assert [(change.key, change.revision, change.created) for change in changes] == [
        ("a", 2, 2),
        ("b", 2, 2),
        ("a", 3, 2),
        ("a", 4, 2),
        ("a", 5, 5),
    ]
    assert {key: change.revision for key, change in state(changes).items()} == {"a": 5, "b": 2}


def test_what_comes_twice_counts_once():
    collected = Collected()
    collected.add([("a", put("a", 2))], 2)
    collected.add([("a", put("a", 2)), ("a", put("a", 3, created=2))], 3)
    assert [change.revision for change in collected.history("/p", 3).changes] == [2, 3]


def test_a_history_ends_where_it_was_asked_for(gateway, clock):
    with Auditor(gateway, "/p", clock=clock) as auditor:
        gateway.stand(3, a=3)
        gateway.batch(put("a", 2), put("a", 3, created=2), put("a", 4, created=2))
        history = auditor.history(within=5.0)
    assert (history.from_revision, history.to_revision, history.incomplete) == (1, 3, False)
    assert [change.revision for change in history.changes] == [2, 3]
    assert (gateway.target.key, gateway.target.prefix, gateway.target.start_revision) == ("/p/", True, 1)


def test_it_waits_for_what_is_still_to_come(gateway, clock):
    with Auditor(gateway, "/p", clock=clock) as auditor:
        gateway.stand(3, a=3)
        gateway.batch(put("a", 2))
        found = in_background(auditor)
        eventually(lambda: clock.waits, within=5.0)
        assert not found
        gateway.batch(put("a", 3, created=2))
        clock.advance(STEP)
        eventually(lambda: found, within=5.0)
    assert [change.revision for change in found[0].changes] == [2, 3]


def test_progress_covers_revisions_of_other_prefixes(gateway, clock):
    with Auditor(gateway, "/p", clock=clock) as auditor:
        gateway.stand(9, a=2)
        gateway.batch(put("a", 2))
        gateway.sink(WatchProgress(gateway.target, 9))
        assert auditor.history(within=5.0).to_revision == 9


def test_without_progress_the_keys_tell_after_a_grace(gateway, clock):
    with Auditor(gateway, "/p", clock=clock) as auditor:
        gateway.stand(9, a=2)
        gateway.batch(put("a", 2))
        found = in_background(auditor)
        eventually(lambda: clock.waits, within=5.0)
        assert not found
        clock.advance(GRACE)
        eventually(lambda: found, within=5.0)
        assert found[0].to_revision == 9


def test_a_deletion_that_has_not_arrived_is_missed(gateway, clock):
    with Auditor(gateway, "/p", clock=clock) as auditor:
        gateway.stand(3)
        gateway.batch(put("a", 2))
        found = in_background(auditor, within=2 * GRACE)
        eventually(lambda: clock.waits, within=5.0)
        clock.advance(GRACE)
        eventually(lambda: clock.waits, within=5.0)
        clock.advance(GRACE)
        eventually(lambda: found, within=5.0)
    assert isinstance(found[0], Unavailable)
    assert "only up to revision 2 of 3" in str(found[0])


def test_a_compacted_history_begins_at_the_oldest_state_there_is(gateway, clock):
    with Auditor(gateway, "/p", clock=clock) as auditor:
        gateway.stand(9, a=9, b=3)
        gateway.past = {7: (KeyValue("/p/a", b"old", 5, 2), KeyValue("/p/b", b"old", 3, 3))}
        gateway.sink(WatchCompacted(gateway.target, 7))
        found = in_background(auditor)
        eventually(lambda: gateway.followed, within=5.0)
        assert gateway.followed[0].start_revision == 8
        gateway.batch(put("a", 9, created=2))
        eventually(lambda: clock.waits, within=5.0)
        clock.advance(STEP)
        eventually(lambda: found, within=5.0)
    (history,) = found
    assert (history.from_revision, history.incomplete) == (7, True)
    assert [(change.key, change.revision, change.created) for change in history.baseline] == [("b", 3, 3), ("a", 5, 2)]
    assert [(change.key, change.revision, change.created) for change in history.changes] == [("a", 9, 2)]


def test_a_compaction_that_goes_on_is_followed(gateway, clock):
    with Auditor(gateway, "/p", clock=clock) as auditor:
        gateway.stand(9, a=5)
        gateway.past = {9: (KeyValue("/p/a", b"old", 5, 2),)}
        gateway.sink(WatchCompacted(gateway.target, 7))
        assert auditor.history(within=5.0).from_revision == 9


def test_another_history_is_an_error_at_once(gateway, clock):
    with Auditor(gateway, "/p", clock=clock) as auditor:
        gateway.stand(9, a=9)
        gateway.sink(WatchInterrupted(HistoryLost("restored")))
        with pytest.raises(HistoryLost):
            auditor.history(within=5.0)


def test_revisions_are_stamped_as_they_arrive(gateway, clock):
    with Auditor(gateway, "/p", clock=clock) as auditor:
        gateway.batch(put("a", 2))
        clock.advance(1.5)
        gateway.batch(put("b", 3), put("a", 3, created=2))
        first, second = auditor.stamp(2), auditor.stamp(3)
        assert second.now - first.now == 1.5
        assert second.wall == second.now + clock.wall_offset
        assert auditor.stamp(4) is None
