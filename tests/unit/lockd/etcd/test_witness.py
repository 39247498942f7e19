from __future__ import annotations

import pytest

from lockd.errors import HistoryLost
from lockd.etcd.witness import Witness

HERE, ELSEWHERE = 0xABC, 0xDEF


def test_a_reply_below_what_was_seen_when_it_was_sent_is_a_restored_etcd():
    witness = Witness()
    witness.judge(HERE, 30, floor=witness.sending())
    floor = witness.sending()
    with pytest.raises(HistoryLost, match="went back from revision 30 to 29"):
        witness.judge(HERE, 29, floor=floor, endpoint="etcd-1:2379")


def test_replies_of_parallel_requests_may_arrive_in_any_order():
    witness = Witness()
    witness.judge(HERE, 30, floor=witness.sending())
    first, second = witness.sending(), witness.sending()
    witness.judge(HERE, 40, floor=second)
    witness.judge(HERE, 31, floor=first)  # answered before the other, and slower on its way
    assert witness.revision == 40


def test_the_same_revision_again_is_no_news():
    witness = Witness()
    witness.judge(HERE, 30, floor=witness.sending())
    witness.judge(HERE, 30, floor=witness.sending())


def test_another_cluster_is_another_history():
    witness = Witness()
    witness.recognize(HERE)
    with pytest.raises(HistoryLost, match="cluster def, not abc as before"):
        witness.judge(ELSEWHERE, 10**9, floor=witness.sending())


def test_what_is_not_linearizable_tells_the_cluster_only():
    witness = Witness()
    witness.judge(HERE, 30, floor=0)
    witness.recognize(HERE)
    with pytest.raises(HistoryLost):
        witness.recognize(ELSEWHERE)


def test_what_a_watch_alone_has_shown_is_missed_as_well():
    witness = Witness()
    witness.judge(HERE, 30, floor=0)
    before = witness.sending()
    witness.recognize(HERE, seen=40)
    witness.recognize(HERE, seen=35)
    witness.judge(HERE, 31, floor=before)  # sent before the event had come
    with pytest.raises(HistoryLost, match="went back from revision 40 to 39"):
        witness.judge(HERE, 39, floor=witness.sending())


def test_history_once_lost_stays_lost():
    witness = Witness()
    witness.judge(HERE, 30, floor=0)
    with pytest.raises(HistoryLost):
        witness.judge(HERE, 29, floor=30)
    with pytest.raises(HistoryLost, match="went back from revision 30 to 29"):
        witness.judge(HERE, 31, floor=30)
    with pytest.raises(HistoryLost):
        witness.recognize(HERE)


def test_a_header_without_a_cluster_says_nothing():
    witness = Witness()
    witness.recognize(0)
    witness.judge(HERE, 1, floor=0)
    witness.recognize(0)
