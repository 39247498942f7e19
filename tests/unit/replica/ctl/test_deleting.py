from __future__ import annotations

import pytest

from lockd.errors import LockdError
from replica.api.codec import encode
from replica.api.kinds import NODE, POD
from replica.ctl.deleting import delete, look, names_of
from replica.ctl.store import ObjectStore
from replica.ctl.targets import select
from tests.harness.clock import ManualClock
from tests.harness.memory_gateway import MemoryGateway

VALUE = encode(b'{"metadata":{"labels":{"app":"web"}}}')


@pytest.fixture
def etcd():
    made = MemoryGateway()
    for key in ("pods/default/a", "pods/default/b", "pods/shop/c", "nodes/n1"):
        made.put(f"/lockd/{key}", VALUE)
    return made


@pytest.fixture
def store(etcd):
    return ObjectStore(etcd, prefix="/lockd", timeout=1.0, clock=ManualClock())


def keys(etcd):
    return [kv.key.removeprefix("/lockd/") for kv in etcd.space.keys]


def test_what_is_there_is_deleted_and_what_is_not_is_seen(etcd, store):
    victims = look(store, [(POD, "a", "default"), (POD, "gone", "default"), (NODE, "n1", "")])
    assert [victim.seen is None for victim in victims] == [False, True, False]
    assert [victim.name for victim in delete(store, victims)] == ["a", "n1"]
    assert keys(etcd) == ["pods/default/b", "pods/shop/c"]


def test_names_of_a_selection(store):
    assert names_of(store, select(["pods,nodes", "x"]), "shop") == [(POD, "x", "shop"), (NODE, "x", "")]
    assert names_of(store, select(["pods"], "app=web"), "default") == [(POD, "a", "default"), (POD, "b", "default")]
    assert names_of(store, select(["pods"], "app=db"), "default") == []


def test_a_change_in_the_meantime_does_not_save_it(etcd, store):
    victims = look(store, [(POD, "a", "default")])
    etcd.put("/lockd/pods/default/a", encode(b'{"changed":1}'))
    assert len(list(delete(store, victims))) == 1
    assert etcd.get("/lockd/pods/default/a") is None


def test_a_new_object_of_the_name_stays(etcd, store):
    victims = look(store, [(POD, "a", "default")])
    etcd.remove("/lockd/pods/default/a")
    etcd.put("/lockd/pods/default/a", VALUE)
    assert len(list(delete(store, victims))) == 1
    assert etcd.get("/lockd/pods/default/a") is not None


def test_someone_who_never_stops_writing(etcd, store):
    victims = look(store, [(POD, "a", "default")])
    etcd.before = lambda _txn: etcd.put("/lockd/pods/default/a", encode(b"%d" % etcd.space.revision))
    with pytest.raises(LockdError, match="pod/a: it changed 10 times"):
        list(delete(store, victims))
