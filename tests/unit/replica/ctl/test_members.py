from __future__ import annotations

from lockd.candidate import Candidate
from lockd.ports import KeyValue, LockName
from lockd.record import LeaderRecord, TermValue
from replica.api.times import parse_time
from replica.ctl.members import judge, read_members
from tests.harness.memory_gateway import MemoryGateway

LOCK = LockName("/lockd", "kube-system", "kube-scheduler")
AT = "2026-01-31T12:00:00Z"


def candidate(identity, since=AT, **more) -> KeyValue:
    value = Candidate(
        identity=identity, hostname="host", pid=7, since=since, http="127.0.0.1:80", version="1.2.3", **more
    ).encode()
    return KeyValue(LOCK.candidates + identity, value, 4)


def lease(holder) -> KeyValue:
    record = LeaderRecord(
        holder_identity=holder, acquire_time=AT, renew_time="2026-01-31T12:00:08.250000Z", leader_transitions=3
    )
    return KeyValue(LOCK.lease, record.encode(), 11)


def term(holder, token=9) -> KeyValue:
    return KeyValue(LOCK.term, TermValue(holder, "x").encode(), token)


def test_the_leader_comes_first_then_by_age():
    found = judge(
        LOCK, 12, [candidate("a", since="2026-01-31T12:00:05Z"), candidate("b"), candidate("c")], lease("c"), term("c")
    )
    assert [(each.identity, each.role, each.state, each.token) for each in found.members] == [
        ("c", "Leader", "running", 9),
        ("b", "Standby", "running", None),
        ("a", "Standby", "running", None),
    ]
    assert found.members[0].row(parse_time("2026-01-31T12:00:10Z")) == (
        "c",
        "host",
        "Leader",
        "running",
        AT,
        "127.0.0.1:80",
        "1.2.3",
        "9",
        "1s ago",
    )
    assert found.members[1].row(0.0)[5:] == ("127.0.0.1:80", "1.2.3", "", "")
    document = found.document()
    assert (document["leader"], document["leaderTransitions"], document["revision"]) == ("c", 3, 12)
    assert document["members"][0]["lastRenew"] == "2026-01-31T12:00:08.250000Z"


def test_a_leader_that_is_gone_is_listed_until_its_record_expires():
    found = judge(LOCK, 12, [candidate("b")], lease("c"), term("c"))
    assert [(each.identity, each.role, each.state, each.since) for each in found.members] == [
        ("c", "Leader", "gone", AT),
        ("b", "Standby", "running", AT),
    ]


def test_a_term_of_another_gives_no_token():
    found = judge(LOCK, 12, [candidate("c")], lease("c"), term("d"))
    assert found.members[0].token is None
    assert judge(LOCK, 12, [candidate("c")], lease("c"), None).members[0].token is None


def test_who_tells_of_refused_writes_is_on_its_way_out():
    assert judge(LOCK, 12, [candidate("a", refused_writes=1)], lease(""), term("")).members[0].state == "deposed"


def test_nobody_leads():
    found = judge(LOCK, 12, [candidate("a", deposed_token=5)], lease(""), term(""))
    assert [(each.role, each.state) for each in found.members] == [("Standby", "deposed")]
    assert found.leader == ""
    assert judge(LOCK, 12, [], None, None).members == ()


def test_what_cannot_be_read_is_said_so():
    broken = KeyValue(LOCK.candidates + "a", b"no JSON", 4)
    assert judge(LOCK, 12, [broken], KeyValue(LOCK.lease, b"no JSON", 5), None).members[0].state == "unreadable"


def test_reading():
    etcd = MemoryGateway()
    for kv in (candidate("a"), candidate("c"), lease("c"), term("c")):
        etcd.put(kv.key, kv.value)
    found = read_members(etcd, LOCK, timeout=1.0)
    assert [each.identity for each in found.members] == ["c", "a"]
    assert found.members[0].token == etcd.get(LOCK.term).mod_revision
