from itertools import islice

from chaos.workloads import making
from chaos.workloads.diary import Diary
from chaos.workloads.pace import Bursts, Steady
from replica.api.kinds import POD


def test_paces():
    assert list(islice(Steady(4.0).arrivals(), 3)) == [(0.0, 1), (0.25, 1), (0.5, 1)]
    assert list(islice(Bursts(50, 3.0).arrivals(), 3)) == [(0.0, 50), (3.0, 50), (6.0, 50)]


def test_pods_never_share_a_name():
    for stream in (making.pods(), making.trace_pods()):
        found = list(islice(stream, 300))
        assert len({draft.name for draft in found}) == 300
        assert {(draft.kind, draft.namespace) for draft in found} == {(POD, making.NAMESPACE)}
        assert all(draft.document["metadata"]["name"] == draft.name for draft in found)


def test_nodes():
    assert [draft.name for draft in making.nodes(2)] == ["node-000", "node-001"]
    assert len(making.trace_nodes()) > 10


def test_a_diary_is_read_as_it_grows():
    diary = Diary()
    assert list(diary.read(b"5 lockctl-1\n5 lock")) == [diary.last]
    (second,) = diary.read(b"ctl-1\n")
    assert (second.token, second.name) == (5, "lockctl-1")
    assert diary.broken == ""


def test_a_diary_tells_who_acted_after_its_time():
    diary = Diary()
    found = list(diary.read(b"5 a\n7 b\n5 a\n7 b\n"))
    assert [beat.token for beat in found] == [5, 7, 7]
    assert diary.broken == "a acted by token 5 after token 7 had begun"
