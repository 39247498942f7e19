from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockd.etcd.cursor import STREAM_WIDE, Create, Cursor, Frame, Refused, progress_is_ordered
from lockd.etcd.model import WatchBatch, WatchCompacted, WatchEvent, WatchProgress, WatchTarget

LEASE = WatchTarget("/lease", start_revision=5)
PODS = WatchTarget("/pods/", prefix=True, start_revision=5)
NOW = WatchTarget("/now")


def event(revision, key="/lease"):
    return WatchEvent(key, b"", revision)


def frame(watch_id, *revisions, **fields):
    return Frame(watch_id=watch_id, revision=99, events=tuple(map(event, revisions)), **fields)


def opened(*targets):
    cursor = Cursor(targets)
    ids = [create.watch_id for create in cursor.open()]
    for watch_id in ids:
        assert cursor.take(Frame(watch_id=watch_id, created=True, revision=20), ordered=True) == ()
    return cursor, *ids


def test_each_target_is_created_from_its_start_revision():
    creates = Cursor([LEASE, NOW]).open()
    assert [(create.target, create.start_revision) for create in creates] == [(LEASE, 5), (NOW, 0)]
    assert len({create.watch_id for create in creates}) == 2


def test_events_move_the_applied_revision():
    cursor, lease = opened(LEASE)
    assert cursor.applied(LEASE) == 4
    assert cursor.take(frame(lease, 7, 8), ordered=True) == (WatchBatch(LEASE, (event(7), event(8)), 8),)
    assert cursor.applied(LEASE) == 8


def test_what_was_delivered_before_is_left_out_of_a_response():
    cursor, lease = opened(LEASE)
    cursor.take(frame(lease, 7, 8), ordered=True)
    assert cursor.take(frame(lease, 7, 8, 9), ordered=True) == (WatchBatch(LEASE, (event(9),), 9),)
    assert cursor.take(frame(lease, 8, 9), ordered=True) == ()
    assert cursor.take(frame(lease, 10), ordered=True) == (WatchBatch(LEASE, (event(10),), 10),)


def test_a_new_stream_resumes_after_the_last_complete_response():
    cursor, lease, pods = opened(LEASE, PODS)
    cursor.take(frame(lease, 7), ordered=True)
    assert [create.start_revision for create in cursor.open()] == [8, 5]
    assert cursor.take(frame(pods, 9), ordered=True) == ()  # of the stream before


def test_a_watch_from_now_resumes_from_where_it_was_created():
    cursor, _ = opened(NOW)
    assert [create.start_revision for create in cursor.open()] == [21]


def test_pieces_are_delivered_together_and_only_when_complete():
    cursor, lease = opened(LEASE)
    assert cursor.take(frame(lease, 7, fragment=True), ordered=True) == ()
    assert cursor.take(frame(lease, 7, fragment=True), ordered=True) == ()
    assert cursor.applied(LEASE) == 4
    assert cursor.take(frame(lease, 7, 8), ordered=True) == (
        WatchBatch(LEASE, (event(7), event(7), event(7), event(8)), 8),
    )


def test_pieces_without_their_last_are_thrown_away_with_the_stream():
    cursor, lease = opened(LEASE)
    cursor.take(frame(lease, 7, fragment=True), ordered=True)
    (again,) = cursor.open()
    assert again.start_revision == 5
    assert cursor.take(frame(again.watch_id, 7), ordered=True) == (WatchBatch(LEASE, (event(7),), 7),)


def test_what_was_seen_already_is_not_delivered_again():
    cursor, lease = opened(LEASE)
    cursor.take(frame(lease, 7), ordered=True)
    assert cursor.take(frame(lease, 7), ordered=True) == ()
    assert cursor.take(frame(lease, 6, 7, 9), ordered=True) == (WatchBatch(LEASE, (event(9),), 9),)


def test_progress_moves_every_target_of_the_stream():
    cursor, _, _ = opened(LEASE, PODS)
    progress = Frame(watch_id=STREAM_WIDE, revision=30)
    assert cursor.take(progress, ordered=True) == (WatchProgress(LEASE, 30), WatchProgress(PODS, 30))
    assert cursor.take(progress, ordered=True) == ()
    assert [create.start_revision for create in cursor.open()] == [31, 31]


def test_progress_of_a_server_that_lets_it_overtake_events_says_nothing():
    cursor, lease = opened(LEASE)
    assert cursor.take(Frame(watch_id=STREAM_WIDE, revision=30), ordered=False) == ()
    assert cursor.take(Frame(watch_id=lease, revision=30), ordered=False) == ()
    assert cursor.take(frame(lease, 29), ordered=False) == (WatchBatch(LEASE, (event(29),), 29),)


def test_progress_says_nothing_of_a_target_with_pieces_outstanding_or_not_yet_created():
    cursor, lease = opened(LEASE)
    cursor.follow(PODS)
    cursor.take(frame(lease, 7, fragment=True), ordered=True)
    assert cursor.take(Frame(watch_id=STREAM_WIDE, revision=30), ordered=True) == ()
    assert (cursor.applied(LEASE), cursor.applied(PODS)) == (4, 4)


def test_a_compacted_target_waits_until_it_is_followed_again():
    cursor, lease, pods = opened(LEASE, PODS)
    gone = Frame(watch_id=lease, canceled=True, compact_revision=50)
    assert cursor.take(gone, ordered=True) == (WatchCompacted(LEASE, 50),)
    assert [create.target for create in cursor.open()] == [PODS]
    resumed = WatchTarget("/lease", start_revision=61)
    create = cursor.follow(resumed)
    assert create == Create(create.watch_id, resumed, 61)
    cursor.take(Frame(watch_id=create.watch_id, created=True, revision=70), ordered=True)
    assert cursor.take(frame(create.watch_id, 62), ordered=True) == (WatchBatch(resumed, (event(62),), 62),)
    assert cursor.take(frame(pods, 63), ordered=True) == ()  # of the stream before


def test_following_again_ends_what_the_target_had_before():
    cursor, lease = opened(LEASE)
    cursor.follow(WatchTarget("/lease", start_revision=61))
    assert cursor.take(frame(lease, 7), ordered=True) == ()


@pytest.mark.parametrize("created", [True, False])
def test_a_refusal_is_seen_though_it_says_created_as_well(created):
    cursor, _ = opened(LEASE)
    refused = Frame(watch_id=STREAM_WIDE, created=created, canceled=True, cancel_reason="permission denied")
    assert cursor.take(refused, ordered=True) == (Refused("permission denied"),)


def test_a_watch_that_etcd_cancels_for_another_reason_is_refused():
    cursor, lease = opened(LEASE)
    assert cursor.take(Frame(watch_id=lease, canceled=True, cancel_reason="why"), ordered=True) == (Refused("why"),)


@given(st.data())
def test_however_a_stream_is_cut_each_event_arrives_once_in_order(data):
    history = sorted(data.draw(st.lists(st.integers(5, 60), max_size=25)))
    cursor = Cursor([LEASE])
    seen = []
    cuts = data.draw(st.integers(0, 4))
    for stream in range(cuts + 1):
        (create,) = cursor.open()
        cursor.take(Frame(watch_id=create.watch_id, created=True, revision=60), ordered=True)
        left = [revision for revision in history if revision >= create.start_revision]
        while left:
            # A response holds whole revisions, and etcd may cut it into pieces anywhere.
            last = data.draw(st.sampled_from(left))
            whole = [revision for revision in left if revision <= last]
            left = left[len(whole) :]
            cut = data.draw(st.integers(0, len(whole)))
            broken = stream < cuts and data.draw(st.booleans())
            pieces = [frame(create.watch_id, *whole[:cut], fragment=True)] if cut else []
            if not broken:
                pieces.append(frame(create.watch_id, *whole[cut:]))
            for piece in pieces:
                for item in cursor.take(piece, ordered=True):
                    seen.extend(event.mod_revision for event in item.events)
                    assert item.revision == seen[-1] == cursor.applied(LEASE)
            if broken:
                break
    assert seen == history


@pytest.mark.parametrize(
    ("version", "ordered"),
    [
        ("3.4.23", False),
        ("3.4.24", False),
        ("3.4.25", True),
        ("3.4.40", True),
        ("3.5.1", False),
        ("3.5.7", False),
        ("3.5.8", True),
        ("3.5.21-rc.0", True),
        ("3.6.0", True),
        ("4.0.0", True),
        ("3.3.27", False),
        ("", False),
        ("not decided", False),
    ],
)
def test_whose_progress_can_be_relied_on(version, ordered):
    assert progress_is_ordered(version) is ordered
