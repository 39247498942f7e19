"""Watch streams as servers may treat them that are not at hand: newer ones, odd ones, others behind one address."""

from __future__ import annotations

import pytest

from lockd.errors import HistoryLost, PermissionDenied, Unavailable
from lockd.etcd.connection import Connection
from lockd.etcd.model import WatchBatch, WatchInterrupted, WatchProgress, WatchTarget
from lockd.etcd.stream import Pace
from tests.harness.etcd import opened
from tests.harness.scripted import ScriptedEtcd
from tests.harness.wait import eventually

QUICK = Pace(heartbeat=0.05, silence=0.4)
TARGET = WatchTarget("/k", start_revision=5)


def event(revision):
    return {"kv": {"key": b"/k", "value": b"v", "mod_revision": revision}}


@pytest.fixture
def server():
    with ScriptedEtcd() as made:
        yield made


@pytest.fixture
def items():
    return []


@pytest.fixture
def watch(server, items):
    with opened(Connection(endpoints=(server.endpoint,))) as gateway:
        watch = gateway.watch([TARGET], items.append, pace=QUICK)
        eventually(lambda: server.streams and server.streams[0], within=5.0)
        yield watch


def test_what_is_asked_for(server, watch):
    (create,) = server.streams[0]
    assert (create.key, create.range_end, create.start_revision, create.fragment) == (b"/k", b"", 5, True)


def test_progress_of_a_newer_server_moves_the_place_to_resume_at(server, watch, items):
    server.revision = 20
    eventually(lambda: watch.applied(TARGET) == 20, within=5.0)
    assert WatchProgress(TARGET, 20) in items
    server.cut()
    eventually(lambda: len(server.streams) == 2 and server.streams[1], within=5.0)
    assert server.streams[1][0].start_revision == 21


def test_a_stream_cut_between_two_pieces_resumes_before_them(server, watch, items):
    watch_id = server.streams[0][0].watch_id
    server.answers = False
    server.say(watch_id=watch_id, events=[event(11)], fragment=True)
    server.cut()
    eventually(lambda: len(server.streams) == 2 and server.streams[1], within=5.0)
    start = server.streams[1][0].start_revision
    assert start <= 11
    server.say(watch_id=server.streams[1][0].watch_id, events=[event(11), event(12)])
    eventually(lambda: [i for i in items if isinstance(i, WatchBatch)], within=5.0)
    (batch,) = (item for item in items if isinstance(item, WatchBatch))
    assert [e.mod_revision for e in batch.events] == [11, 12]


def test_another_cluster_behind_the_same_stream_ends_the_watch(server, watch, items):
    server.say(cluster=2, watch_id=-1)
    eventually(lambda: not watch.running, within=5.0)
    assert isinstance(items[-1], WatchInterrupted)
    assert isinstance(items[-1].error, HistoryLost)


def test_silence_after_signs_of_life_opens_the_stream_again(server, watch, items):
    eventually(lambda: watch.applied(TARGET) == 10, within=5.0)
    server.answers = False
    eventually(lambda: len(server.streams) >= 2, within=5.0)
    (broken,) = (item for item in items if isinstance(item, WatchInterrupted))
    assert isinstance(broken.error, Unavailable)
    assert "silent for" in str(broken.error)


def test_a_young_stream_that_answers_nothing_lives_while_its_member_does(items):
    with ScriptedEtcd(version="3.5.9") as server:
        server.answers = False
        with opened(Connection(endpoints=(server.endpoint,))) as gateway:
            gateway.watch([TARGET], items.append, pace=QUICK)
            eventually(lambda: server.statuses >= 3, within=5.0)  # asked otherwise, twice, and not given up
            assert len(server.streams) == 1
            assert items == []


def test_a_stream_that_never_answers_is_given_up_in_the_end(items):
    with ScriptedEtcd() as server:
        server.answers = False
        with opened(Connection(endpoints=(server.endpoint,))) as gateway:
            gateway.watch([TARGET], items.append, pace=QUICK)
            eventually(lambda: len(server.streams) >= 2, within=10.0)


def test_a_refusal_is_an_item_though_it_says_created_as_well(server, watch, items):
    server.say(watch_id=-1, created=True, canceled=True, cancel_reason="etcdserver: permission denied")
    eventually(lambda: items and isinstance(items[-1], WatchInterrupted), within=5.0)
    assert isinstance(items[-1].error, PermissionDenied)
    eventually(lambda: len(server.streams) >= 2, within=5.0)


def test_a_leaderless_member_is_not_watched(items):
    with ScriptedEtcd() as server, opened(Connection(endpoints=(server.endpoint,))) as gateway:
        server.leader = 0
        gateway.watch([TARGET], items.append, pace=QUICK)
        eventually(lambda: items, within=5.0)
        assert "no leader" in str(items[0].error)
        assert server.streams == []
