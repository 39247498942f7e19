import pytest

from chaos.checks import judge
from chaos.ledger import Ledger
from chaos.record import Record
from chaos.report import Report
from tests.harness.history import HistoryMaker, event, pod


def report_of(made, **how):
    ledger = Ledger.of(made.history(**how))
    return Report.of(ledger, judge(Record(ledger=ledger)))


@pytest.fixture
def made():
    made = HistoryMaker()
    made.node("n1", cpu="3")  # 2
    made.pod("p1")  # 3
    made.token = made.acquire("A")  # 4
    made.bind("p1", "n1")  # 5
    return made


def test_the_document_has_the_agreed_shape(made):
    made.pod("gated", gate="wait")
    made.pod("by-hand", node="n1")
    made.pod("gone")
    made.delete("pods/default/gone")
    made.commit({"pods/default/evicted": pod("evicted", node="n1", token=made.token, grace=0)})
    made.commit(
        {
            "pods/default/gated": pod("gated", gate="wait", token=made.token, priority=1, refused="no", nominated="n1"),
            "pods/default/evicted": None,
            f"events/default/{made.token}-9": event(made.token, uid="uid-evicted"),
        }
    )
    made.release()  # 12
    assert report_of(made).document() == {
        "from_revision": 1,
        "incomplete": False,
        "terms": [{"token": 4, "identity": "A", "since_revision": 4, "until_revision": 12}],
        # the bind, the put and the delete of `evicted`, its event, the promise for it, the last event of the term
        "writes": {"guarded": 6, "user": 6},
        "violations": [],
        "pods": {
            "bound": 3,
            "bound_by_user": 1,
            "pending": 1,
            "lost": 0,
            "double_bound": 0,
            "deleted": {"by_user": 1, "by_leader": 1},
        },
        "unplaced": [
            {
                "key": "/lockd/pods/default/gated",
                "message": "no",
                "reasons": {},
                "fits": None,
                "unjudged": "scheduling gates",
            }
        ],
        "nodes": {"count": 1, "overcommitted": 0},
    }


def test_an_event_that_expires_is_nobodys_write(made):
    key = f"events/default/{made.token}-1"
    made.commit({key: event(made.token)})
    before = report_of(made).document()["writes"]
    made.commit({key: None})
    assert report_of(made).document()["writes"] == before


def test_a_violation_is_told_with_its_whole_key(made):
    successor = made.acquire("B")
    made.pod("p2")
    made.bind("p2", "n1", token=made.token)
    document = report_of(made).document()
    assert document["terms"] == [
        {"token": 4, "identity": "A", "since_revision": 4, "until_revision": successor},
        {"token": successor, "identity": "B", "since_revision": successor, "until_revision": None},
    ]
    (violation,) = document["violations"]
    assert violation.pop("message")
    assert violation == {
        "check": "stale-token",
        "revision": made.revision,
        "key": "/lockd/pods/default/p2",
        "token": 4,
        "term_token": successor,
    }


def test_pods_are_counted_by_life(made):
    made.delete("pods/default/p1")
    made.pod("p1")
    made.bind("p1", "n1")
    made.pod("p1", node="n2")
    pods = report_of(made).document()["pods"]
    assert (pods["bound"], pods["bound_by_user"], pods["double_bound"]) == (2, 1, 1)
    assert pods["deleted"] == {"by_user": 1, "by_leader": 0}


def test_a_node_is_counted_once_however_often_it_was_overcommitted_and_by_whomever(made):
    for number in range(2, 6):
        made.pod(f"p{number}", node="n1")
    made.delete("nodes/n1")
    report = report_of(made)
    assert report.document()["nodes"] == {"count": 0, "overcommitted": 1}
    assert report.passed


@pytest.mark.parametrize(
    ("spoil", "verdict"),
    [
        (lambda made: {}, "PASSED"),
        (lambda made: made.pod("lost") and {}, "FAILED"),
        (lambda made: {"compacted": made.revision}, "INCOMPLETE"),
    ],
    ids=["nothing", "lost", "compacted"],
)
def test_the_verdict_is_the_last_line(made, spoil, verdict):
    report = report_of(made, **spoil(made))
    assert report.lines()[-1].startswith(verdict)
    assert report.passed == (verdict == "PASSED")


def test_a_compacted_history_says_from_where_it_is_judged(made):
    cut = made.revision
    made.release()
    document = report_of(made, compacted=cut).document()
    assert (document["from_revision"], document["incomplete"]) == (cut, True)
    assert document["terms"] == [
        {"token": made.token, "identity": "A", "since_revision": made.token, "until_revision": made.revision}
    ]
    assert document["pods"]["bound"] == 1


def test_people_see_the_first_violations_and_how_many_more(made):
    for number in range(30):
        made.pod(f"lost-{number}")
    lines = report_of(made).lines(most=3)
    assert sum(line.startswith("lost-pod") for line in lines) == 3
    assert "... and 27 more: -o json lists all" in lines


def test_a_prefix_without_a_key_is_not_judged():
    report = report_of(HistoryMaker())
    assert not report.passed
    assert report.document()["incomplete"]
    assert report.lines() == [report.verdict()]
    assert report.verdict().startswith("INCOMPLETE: nothing to judge: no key has ever been under ")


def test_a_pod_of_another_scheduler_is_pending(made):
    made.pod("other", scheduler="another")
    pods = report_of(made).document()["pods"]
    assert (pods["pending"], pods["lost"]) == (1, 0)


@pytest.mark.parametrize(("count", "said"), [(1, "FAILED: 1 violation"), (2, "FAILED: 2 violations")])
def test_the_verdict_counts(made, count, said):
    for number in range(count):
        made.pod(f"lost-{number}")
    assert report_of(made).verdict() == said


def test_the_table_of_terms_names_the_lock_if_there_are_several(made):
    assert report_of(made).lines()[0].split() == ["TOKEN", "HOLDER", "SINCE", "UNTIL"]
    made.acquire("X", lock="other/lock")
    head, *rows = report_of(made).lines()
    assert head.split() == ["TOKEN", "LOCK", "HOLDER", "SINCE", "UNTIL"]
    assert [row.split()[1:3] for row in rows[:2]] == [["kube-system/kube-scheduler", "A"], ["other/lock", "X"]]
