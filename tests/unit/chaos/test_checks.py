"""Each check is red on the smallest history that breaks its rule, and all are green on a faultless one."""

import pytest

from chaos.checks import judge
from chaos.ledger import Ledger
from chaos.record import Record
from lockd.record import LeaderRecord, TermValue
from tests.harness.history import ENDS, LOCK, WHEN, HistoryMaker, event, pod


def found(made, *, settled=True, **how):
    record = Record(ledger=Ledger.of(made.history(**how)), settled=settled)
    return [(each.check, each.key, each.token, each.term_token) for each in judge(record)]


@pytest.fixture
def made():
    """A user has made a node and two pods; A leads and has bound the first."""
    made = HistoryMaker()
    made.node("n1", cpu="2")
    made.node("n2", cpu="2")
    made.pod("p1")
    made.pod("p2")
    made.token = made.acquire("A")
    made.bind("p1", "n1")
    return made


def test_a_faultless_history_is_green(made):
    made.renew("A")
    made.bind("p2", "n1")
    made.release()
    second = made.acquire("B")
    made.renew("B")
    made.pod("gated", gate="wait")
    made.pod("big", cpu="64")
    made.pod("big", cpu="64", token=second, refused="0/2 nodes are available")
    made.pod("ended", phase="Succeeded")
    made.pod("p3", priority=10)
    made.preempt("p3", "p1", node="n1")
    made.delete("pods/default/p1", by=second, uid="uid-p1", at=ENDS)
    made.bind("p3", "n1")
    made.delete("pods/default/p2")
    third = made.acquire("C")  # B was killed: no release
    made.pod("p2")
    made.bind("p2", "n2", token=third)
    made.commit({f"events/default/{third}-1": event(third, uid="uid-p2")})
    made.commit({f"events/default/{third}-1": event(third, uid="uid-p2")})
    assert found(made) == []


def test_the_last_event_of_a_term_rides_in_its_release(made):
    made.bind("p2", "n1")
    made.release()
    assert found(made) == []


def test_stale_token_after_a_successor(made):
    second = made.acquire("B")
    made.bind("p2", "n1", token=made.token)
    assert found(made) == [("stale-token", "pods/default/p2", made.token, second)]


def test_stale_token_after_a_release(made):
    made.release()
    made.bind("p2", "n1", token=made.token)
    assert found(made) == [("stale-token", "pods/default/p2", made.token, 0)]


def test_a_term_is_not_in_force_at_its_own_acquire(made):
    made.release()
    token = made.revision + 1
    made.commit(
        {
            f"leases/{LOCK}": made.lease("B"),
            f"terms/{LOCK}": made.term("B"),
            "pods/default/p2": pod("p2", node="n1", token=token),
        }
    )
    assert found(made) == [("token-from-the-future", "pods/default/p2", token, 0)]


def test_token_from_the_future(made):
    made.bind("p2", "n1", token=1000)
    assert found(made) == [("token-from-the-future", "pods/default/p2", 1000, made.token)]


def test_unknown_token(made):
    made.bind("p2", "n1", token=made.token - 1)
    assert found(made) == [("unknown-token", "pods/default/p2", made.token - 1, made.token)]


def test_a_deposed_leaders_delete_is_a_stale_write(made):
    second = made.acquire("B")
    made.bind("p2", "n1")
    made.delete("pods/default/p1", by=made.token, uid="uid-p1")
    assert {(check, key) for check, key, *_ in found(made)} == {
        ("stale-token", "pods/default/p1"),
        ("stale-token", f"events/default/{made.token}-5"),
        ("unfounded-eviction", "pods/default/p1"),
    }
    assert second > made.token


def test_a_pod_goes_at_once_only_if_it_has_no_grace_period(made):
    made.bind("p2", "n1")
    made.delete("pods/default/p1", by=made.token, uid="uid-p1")
    assert found(made) == [("unfounded-eviction", "pods/default/p1", made.token, made.token)]


def test_a_pod_without_grace_goes_with_the_promise(made):
    made.commit({"pods/default/p2": pod("p2", node="n2", grace=0)})
    made.commit(
        {
            "pods/default/p3": pod("p3", token=made.token, priority=1, refused="no", nominated="n2"),
            "pods/default/p2": None,
            f"events/default/{made.token}-9": event(made.token, uid="uid-p2"),
        }
    )
    made.bind("p3", "n2")
    assert found(made) == []
    made.pod("p4", node="n1", grace=0)
    made.delete("pods/default/p4", by=made.token, uid="uid-p4")
    assert found(made) == [("unfounded-eviction", "pods/default/p4", made.token, made.token)]


def test_a_mark_without_a_promise(made):
    made.bind("p2", "n1")
    made.commit({"pods/default/p1": pod("p1", token=made.token, node="n1", ends=ENDS)})
    assert found(made) == [("unfounded-eviction", "pods/default/p1", made.token, made.token)]


def test_a_mark_for_a_pod_that_matters_no_more(made):
    made.bind("p2", "n1")
    made.preempt("p3", "p1", node="n1", priority=0)
    made.bind("p3", "n2")
    assert found(made) == [("unfounded-eviction", "pods/default/p1", made.token, made.token)]


def test_a_pod_that_goes_before_its_grace_period_is_over(made):
    made.bind("p2", "n1")
    made.preempt("p3", "p1", node="n1")
    made.delete("pods/default/p1", by=made.token, uid="uid-p1", at=WHEN)
    assert ("early-eviction", "pods/default/p1", made.token, made.token) in found(made)


def test_an_event_about_another_object_makes_no_leader_the_author_of_a_delete(made):
    made.bind("p2", "n1")
    made.delete("pods/default/p1", by=made.token, uid="uid-of-another")
    ledger = Ledger.of(made.history())
    assert [write.token for write in ledger.writes if write.after is None] == [0]


def test_unreadable_object(made):
    made.bind("p2", "n1")
    made.commit({"pods/default/p3": b"k8s\x00not ours"})
    made.commit({"pods/p4": pod("p4")})
    assert found(made) == [
        ("unreadable-object", "pods/default/p3", 0, made.token),
        ("unreadable-object", "pods/p4", 0, made.token),
    ]


def test_term_without_its_lease(made):
    made.bind("p2", "n1")
    made.commit({f"terms/{LOCK}": made.term("B")})
    assert found(made) == [("term-acquire", f"terms/{LOCK}", made.revision, made.token)]


def test_term_and_lease_of_different_holders(made):
    made.bind("p2", "n1")
    made.commit({f"terms/{LOCK}": made.term("B"), f"leases/{LOCK}": made.lease("C")})
    assert found(made) == [("term-acquire", f"terms/{LOCK}", made.revision, made.token)]


def test_term_released_without_its_lease(made):
    made.bind("p2", "n1")
    made.commit({f"terms/{LOCK}": made.term("")})
    assert found(made) == [("term-acquire", f"terms/{LOCK}", made.revision, made.token)]


def test_release_by_nobody(made):
    made.bind("p2", "n1")
    made.release()
    made.commit({f"terms/{LOCK}": made.term(""), f"leases/{LOCK}": made.lease("")})
    assert found(made) == [("term-acquire", f"terms/{LOCK}", made.revision, 0)]


def test_acquisition_used_twice(made):
    made.bind("p2", "n1")
    term = TermValue("B", "the-same").encode()
    made.commit({f"terms/{LOCK}": term, f"leases/{LOCK}": made.lease("B")})
    before = made.revision
    made.commit({f"terms/{LOCK}": term, f"leases/{LOCK}": made.lease("B")})
    assert found(made) == [("term-acquire", f"terms/{LOCK}", made.revision, before)]


def test_term_that_cannot_be_read(made):
    made.bind("p2", "n1")
    made.commit({f"terms/{LOCK}": b"[", f"leases/{LOCK}": made.lease("B")})
    assert found(made) == [("term-acquire", f"terms/{LOCK}", made.revision, made.token)]


def test_term_deleted(made):
    made.bind("p2", "n1")
    made.commit({f"terms/{LOCK}": None})
    assert found(made) == [("term-deleted", f"terms/{LOCK}", 0, made.token)]


def test_term_overlap_by_a_lease_without_a_term(made):
    made.bind("p2", "n1")
    made.renew("B")
    assert found(made) == [("term-overlap", f"leases/{LOCK}", 0, made.token)]


def test_lease_renewed_by_a_former_holder(made):
    made.bind("p2", "n1")
    made.release()
    made.renew("A")
    assert found(made) == [("lease-not-holder", f"leases/{LOCK}", 0, 0)]


def test_lease_blanked_without_its_term(made):
    made.bind("p2", "n1")
    made.commit({f"leases/{LOCK}": made.lease("")})
    assert found(made) == [("lease-not-holder", f"leases/{LOCK}", 0, made.token)]


def test_lease_with_garbage(made):
    made.bind("p2", "n1")
    made.commit({f"leases/{LOCK}": b"garbage"})
    assert found(made) == [("lease-not-holder", f"leases/{LOCK}", 0, made.token)]


def test_an_operator_may_delete_the_lease(made):
    made.bind("p2", "n1")
    made.commit({f"leases/{LOCK}": None})
    made.acquire("B")
    assert found(made) == []


def test_double_bind(made):
    made.bind("p2", "n1")
    made.bind("p2", "n2")
    assert found(made) == [("double-bind", "pods/default/p2", made.token, made.token)]


def test_a_new_pod_of_an_old_name_may_go_elsewhere(made):
    made.bind("p2", "n1")
    made.delete("pods/default/p2")
    made.pod("p2")
    made.bind("p2", "n2")
    assert found(made) == []


def test_overcommit(made):
    made.bind("p2", "n1")
    made.pod("p3")
    made.bind("p3", "n1")
    assert found(made) == [("overcommit", "nodes/n1", made.token, made.token)]


def test_overcommit_by_number_of_pods():
    made = HistoryMaker()
    made.node("n1", cpu="64", pods="1")
    for name in ("p1", "p2"):
        made.pod(name)
    token = made.acquire("A")
    made.commit({f"pods/default/{name}": pod(name, node="n1", token=token) for name in ("p1", "p2")})
    assert found(made) == [("overcommit", "nodes/n1", token, token)]


def test_overcommit_that_ended_before_the_end_counts_all_the_same(made):
    made.bind("p2", "n1")
    made.pod("p3")
    made.bind("p3", "n1")
    for name in ("p1", "p2", "p3"):
        made.delete(f"pods/default/{name}")
    assert [check for check, *_ in found(made)] == ["overcommit"]


def test_room_of_pods_that_ended_is_room(made):
    made.bind("p2", "n1")
    made.delete("pods/default/p1")
    made.pod("p2", node="n1", phase="Succeeded")
    for name in ("p3", "p4"):
        made.pod(name)
        made.bind(name, "n1")
    assert found(made) == []


def test_a_user_may_overcommit_and_a_shrunk_node_is_nobodys_fault(made):
    made.bind("p2", "n1")
    made.pod("p3", node="n1")
    made.node("n2", cpu="0")
    assert found(made) == []


def test_who_asks_for_nothing_of_what_a_user_overcommitted_may_be_bound(made):
    made.bind("p2", "n1")
    made.pod("p3", node="n1")
    made.pod("p4", cpu="0")
    made.bind("p4", "n1", cpu="0")
    assert found(made) == []


def test_lost_pod(made):
    lost = made.revision - 2  # the put of p2, before the acquire and the bind
    assert found(made, settled=False) == []
    assert found(made) == [("lost-pod", "pods/default/p2", 0, 0)]
    (violation,) = judge(Record(ledger=Ledger.of(made.history())))
    assert violation.revision == lost


def test_a_pod_that_is_being_deleted_is_not_lost(made):
    made.pod("p2", deleted="2026-01-01T00:00:00Z")
    assert found(made) == []


def test_a_pod_of_another_scheduler_is_not_lost(made):
    made.pod("p2", scheduler="another")
    assert found(made) == []


@pytest.mark.parametrize("named", ["event", "bind"])
def test_a_pod_of_the_leaders_own_scheduler_is(made, named):
    made.pod("p2", scheduler="mine")
    if named == "event":
        made.commit({f"events/default/{made.token}-9": event(made.token, controller="mine")})
    else:
        made.pod("p3", scheduler="mine", node="n2", token=made.token)
    assert [check for check, *_ in found(made)] == ["lost-pod"]


def test_event_key_reused_after_a_deletion(made):
    made.bind("p2", "n1")
    key = f"events/default/{made.token}-1"
    made.commit({key: event(made.token)})
    made.commit({key: None})
    made.commit({key: event(made.token)})
    assert found(made) == [("event-key-reused", key, made.token, made.token)]


def test_event_under_another_authors_key(made):
    made.bind("p2", "n1")
    made.commit({f"events/default/{made.token}-1": event(0)})
    made.commit({"events/default/0-uuid": event(0)})
    assert found(made) == [("event-key-reused", f"events/default/{made.token}-1", 0, made.token)]


def test_each_lock_has_terms_of_its_own(made):
    made.bind("p2", "n1")
    other = made.acquire("X", lock="other/lock")
    made.pod("p3", node="n2", token=other)
    made.bind("p4", "n2", token=made.token)
    made.renew("A")
    made.renew("X", lock="other/lock")
    assert found(made) == []


def test_a_cut_off_history_is_judged_from_where_it_begins(made):
    cut = made.revision
    made.bind("p2", "n1")
    made.bind("p1", "n2")  # p1 stood on n1 when the history began
    assert found(made, compacted=cut) == [("double-bind", "pods/default/p1", made.token, made.token)]


def test_a_token_from_before_a_cut_off_history_is_stale(made):
    old = made.token
    made.release()
    made.acquire("B")
    cut = made.revision
    made.bind("p2", "n1", token=old)
    assert [check for check, *_ in found(made, compacted=cut)] == ["stale-token"]


def test_a_release_by_another_process_than_the_holders(made):
    def released(renewal):
        record = LeaderRecord(holder_identity="", lease_duration=1.0, renewal=renewal)
        return {f"leases/{LOCK}": record.encode(), f"terms/{LOCK}": made.term("")}

    made.commit(released("renewal-77"))
    assert found(made, settled=False) == []
    token = made.acquire("B")
    made.renew("B")
    made.commit(released("other-3"))
    assert found(made, settled=False) == [("foreign-release", f"leases/{LOCK}", 0, token)]
