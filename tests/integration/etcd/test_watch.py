"""Watches on a real etcd: order, pieces, compaction, members that die or fall silent."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from component.clock import SystemClock
from component.lifecycle import Group
from lockd.etcd.channel import OPTIONS
from lockd.etcd.cursor import Cursor
from lockd.etcd.model import WatchBatch, WatchCompacted, WatchInterrupted, WatchTarget
from lockd.etcd.stream import Pace
from lockd.ports import Delete, Put, Txn
from tests.harness.etcd import opened
from tests.harness.proxy import Way
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

FAST = Pace(heartbeat=0.2, silence=1.0)


class Sink:
    """Keeps what it is given."""

    def __init__(self):
        self.items = []
        self.hold = threading.Event()
        self.hold.set()
        self.held = threading.Event()

    def __call__(self, item):
        if not self.hold.is_set():
            self.held.set()
        self.hold.wait(20.0)
        self.items.append(item)

    def of(self, kind):
        return [item for item in self.items if isinstance(item, kind)]

    @property
    def events(self):
        return [event for batch in self.of(WatchBatch) for event in batch.events]

    @property
    def revisions(self):
        return [event.mod_revision for event in self.events]


@pytest.fixture
def sink():
    return Sink()


def put(gateway, key, value=b"v"):
    return gateway.txn(Txn((), (Put(key, value),)), timeout=5.0).revision


def test_events_come_in_order_once_for_each_target(each_etcd, prefix, sink):
    with opened(each_etcd.connection) as gateway:
        start = put(gateway, f"{prefix}/lease")
        pods = WatchTarget(f"{prefix}/pods/", prefix=True, start_revision=start)
        lease = WatchTarget(f"{prefix}/lease", start_revision=start)
        watch = gateway.watch([pods, lease], sink)
        both = gateway.txn(Txn((), (Put(f"{prefix}/pods/a", b"1"), Put(f"{prefix}/pods/b", b"2"))), timeout=5.0)
        gone = gateway.txn(Txn((), (Delete(f"{prefix}/pods/a"), Put(f"{prefix}/lease", b"2"))), timeout=5.0)
        eventually(lambda: len(sink.events) == 5, within=5.0)
        of_pods, of_lease = ([b for b in sink.of(WatchBatch) if b.target is t] for t in (pods, lease))
        assert [(e.key[-1], e.value, e.mod_revision) for b in of_pods for e in b.events] == [
            ("a", b"1", both.revision),
            ("b", b"2", both.revision),
            ("a", None, gone.revision),
        ]
        assert [e.mod_revision for b in of_lease for e in b.events] == [start, gone.revision]
        assert watch.applied(pods) >= gone.revision
        assert all(b.revision == b.events[-1].mod_revision for b in sink.of(WatchBatch))


def test_a_target_may_leave_out_the_first_keys_of_its_prefix(each_etcd, prefix, sink):
    with opened(each_etcd.connection) as gateway:
        target = WatchTarget(f"{prefix}/", prefix=True, start=f"{prefix}/history/")
        watch = gateway.watch([target], sink)
        eventually(lambda: watch.applied(target), within=5.0)
        gateway.txn(Txn((), tuple(Put(f"{prefix}/{key}", b"1") for key in ("events/a", "history/a"))), timeout=5.0)
        put(gateway, f"{prefix}/events/b")
        last = put(gateway, f"{prefix}/terms/a")
        eventually(lambda: watch.applied(target) >= last, within=5.0)
        assert [event.key.removeprefix(f"{prefix}/") for event in sink.events] == ["history/a", "terms/a"]


def test_what_etcd_cuts_in_pieces_arrives_whole(each_etcd, prefix, sink, monkeypatch):
    frames = []
    take = Cursor.take
    monkeypatch.setattr(
        Cursor, "take", lambda self, frame, **fields: frames.append(frame) or take(self, frame, **fields)
    )
    with opened(each_etcd.connection) as gateway:
        revisions = [put(gateway, f"{prefix}/{n}", bytes(700_000)) for n in range(12)]  # 8.4 MB in one response
        gateway.watch([WatchTarget(prefix, prefix=True, start_revision=revisions[0])], sink)
        eventually(lambda: len(sink.events) == 12, within=10.0)
        assert sink.revisions == revisions
        assert len(sink.items) == 1
        *pieces, last = (frame.fragment for frame in frames if frame.events)
        assert pieces
        assert all(pieces)
        assert not last


def test_progress_is_asked_for_and_a_quiet_watch_lives(each_etcd, prefix, sink):
    with opened(each_etcd.connection) as gateway:
        gateway.watch([WatchTarget(prefix)], sink, pace=FAST)
        SystemClock().wait(threading.Event(), 2.5)  # more than twice the silence it suffers
        assert sink.items == []
        revision = put(gateway, prefix)
        eventually(lambda: sink.revisions == [revision], within=2.0)


def test_row_20_compaction_under_a_stopped_client_is_told_and_followed_by_a_list(each_etcd, prefix, sink):
    with opened(each_etcd.connection) as gateway:
        start = put(gateway, prefix, b"0")
        target = WatchTarget(prefix, start_revision=start)
        watch = gateway.watch([target], sink, pace=FAST)
        eventually(lambda: sink.revisions == [start], within=5.0)
        sink.hold.clear()
        first = put(gateway, prefix, b"1")  # holds the sink up
        assert sink.held.wait(5.0)
        watch._stream.end()  # the connection is lost meanwhile
        for n in range(5):
            last = put(gateway, prefix, b"%d" % n)
        gateway.compact(last, timeout=5.0)
        sink.hold.set()
        eventually(lambda: sink.of(WatchCompacted), within=5.0)
        (compacted,) = sink.of(WatchCompacted)
        assert (compacted.target, compacted.compact_revision) == (target, last)
        assert sink.revisions == [start, first]
        listing = gateway.range(prefix, timeout=5.0)
        watch.follow(replace(target, start_revision=listing.revision + 1))
        after = put(gateway, prefix, b"after")
        eventually(lambda: sink.revisions[-1] == after, within=5.0)


def test_a_watch_exactly_at_the_compacted_revision_works(each_etcd, prefix, sink):
    with opened(each_etcd.connection) as gateway:
        put(gateway, prefix)
        last = put(gateway, prefix)
        gateway.compact(last, timeout=5.0)
        gateway.watch([WatchTarget(prefix, start_revision=last)], sink)
        eventually(lambda: sink.revisions == [last], within=5.0)


def test_compaction_under_a_live_watch_loses_nothing(each_etcd, prefix, sink):
    with opened(each_etcd.connection) as gateway:
        revisions = [put(gateway, prefix)]
        gateway.watch([WatchTarget(prefix, start_revision=revisions[0])], sink)
        eventually(lambda: sink.revisions == revisions, within=5.0)
        for _ in range(20):
            revisions.append(put(gateway, prefix))
            gateway.compact(revisions[-1], timeout=5.0)
        eventually(lambda: len(sink.events) == 21, within=5.0)
        assert sink.revisions == revisions


def test_what_the_sink_raises_ends_the_watch_and_its_group(each_etcd, prefix):
    def broken(_item):
        raise RuntimeError("sink")

    group = Group("test")
    with opened(each_etcd.connection) as gateway:
        watch = gateway.watch([WatchTarget(prefix)], broken, group=group)
        eventually(lambda: watch._stream is not None and watch._stream._created, within=5.0)
        put(gateway, prefix)
        eventually(lambda: group.failure is not None, within=5.0)
    assert isinstance(group.failure, RuntimeError)
    assert group.join(2.0) == ()


def test_the_groups_stop_ends_a_watch(each_etcd, prefix, sink):
    group = Group("test")
    with opened(each_etcd.connection) as gateway:
        gateway.watch([WatchTarget(prefix)], sink, group=group, pace=FAST)
        group.request_stop()
        assert group.join(2.0) == ()


def test_a_slow_sink_does_not_look_like_a_silent_member(each_etcd, prefix, sink):
    with opened(each_etcd.connection) as gateway:
        start = put(gateway, prefix)
        gateway.watch([WatchTarget(prefix, start_revision=start)], sink, pace=FAST)
        sink.hold.clear()
        revisions = [start, *(put(gateway, prefix) for _ in range(5))]
        SystemClock().wait(threading.Event(), 1.5 * FAST.silence)
        sink.hold.set()
        eventually(lambda: len(sink.events) == 6, within=5.0)
        assert sink.revisions == revisions
        assert sink.of(WatchInterrupted) == []


# --- members that die, stop or are cut off


@pytest.fixture
def watched(trio, prefix, sink):
    """A watch on the first member, and a writer that prefers the second."""
    with opened(trio.connection, first=1) as writer:
        start = put(writer, prefix)
        with opened(trio.connection) as gateway:
            gateway.watch([WatchTarget(prefix, start_revision=start)], sink, pace=FAST)
            eventually(lambda: sink.revisions == [start], within=5.0)
            yield writer


@pytest.mark.parametrize("fault", ["kill", "pause"])
def test_row_12_and_19_a_watch_goes_on_when_its_member_does_not(trio, prefix, sink, watched, fault):
    trio.move_leader(trio.members[1])
    getattr(trio.members[0], fault)()
    revisions = [*sink.revisions, *(put(watched, prefix) for _ in range(3))]
    eventually(lambda: sink.revisions == revisions, within=FAST.silence + FAST.heartbeat + 3.0)
    assert len(sink.of(WatchInterrupted)) == 1


def test_row_19_a_member_without_a_leader_does_not_keep_a_watch(trio, prefix, sink, watched):
    for member in trio.members[1:]:
        member.kill()
    eventually(lambda: sink.of(WatchInterrupted), within=10.0)
    for member in trio.members[1:]:
        member.start()
    trio.wait_ready(20.0)
    revision = put(watched, prefix)
    eventually(lambda: sink.revisions[-1] == revision, within=5.0)


@pytest.mark.parametrize("ways", [(Way.TO_CLIENT,), (Way.TO_SERVER,), ()], ids=["replies", "requests", "both"])
def test_a_watch_that_is_cut_off_without_a_word_goes_on_elsewhere(trio, proxies, prefix, sink, ways):
    with opened(trio.connection) as writer, opened(proxies.connection) as gateway:
        revisions = [put(writer, prefix)]
        gateway.watch([WatchTarget(prefix, start_revision=revisions[0])], sink, pace=FAST)
        eventually(lambda: sink.revisions == revisions, within=5.0)
        proxies.each[0].black_hole(*ways)
        revisions += [put(writer, prefix) for _ in range(3)]
        eventually(lambda: sink.revisions == revisions, within=FAST.silence + FAST.heartbeat + 3.0)


def test_row_31_and_32_the_channel_itself_notices_a_stopped_member_and_is_not_sent_away(each_etcd, prefix):
    options = dict(OPTIONS)
    assert options["grpc.keepalive_time_ms"] >= 5000  # etcd's limit
    assert "grpc.keepalive_permit_without_calls" not in options
    assert options["grpc.http2.max_pings_without_data"] == 0
    assert options["grpc.keepalive_time_ms"] + options["grpc.http2.ping_timeout_ms"] <= 7000


@pytest.mark.slow
def test_row_32_a_quiet_watch_is_not_sent_away_for_its_pings(each_etcd, prefix, sink):
    with opened(each_etcd.connection) as gateway:
        gateway.watch([WatchTarget(prefix)], sink, pace=Pace(heartbeat=60.0, silence=120.0))
        SystemClock().wait(threading.Event(), 25.0)
        assert sink.items == []
        put(gateway, prefix)
        eventually(lambda: sink.events, within=2.0)


@pytest.mark.slow
def test_row_31_the_channel_itself_notices_a_stopped_member(trio, prefix, sink):
    with opened(replace(trio.connection, endpoints=trio.endpoints[:1])) as gateway:
        gateway.watch([WatchTarget(prefix)], sink, pace=Pace(heartbeat=60.0, silence=120.0))
        SystemClock().wait(threading.Event(), 1.0)
        trio.members[0].pause()
        eventually(lambda: sink.of(WatchInterrupted), within=7.0 + 2.0)
