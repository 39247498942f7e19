"""Users, passwords and tokens on a real etcd of each version."""

from __future__ import annotations

import queue
import threading
from dataclasses import replace

import pytest

from component.clock import SystemClock
from lockd.errors import PermissionDenied
from lockd.etcd.embedded import Embedded
from lockd.etcd.model import WatchTarget
from lockd.ports import Put, Txn
from tests.harness import auth, certs
from tests.harness import etcd as harness
from tests.harness.etcd import opened
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd


def asking(program, *, seconds):
    """An etcd that asks for passwords, with tokens that are good for so long."""
    token = f"jwt,pub-key={certs.path('jwt.pem')},priv-key={certs.path('jwt.key')},sign-method=RS256,ttl={seconds}s"
    cluster = Embedded.start(etcd=program, flags=(f"--auth-token={token}",))
    with opened(cluster.connection) as gateway:
        auth.enable(gateway, readable="/open")
    return cluster


@pytest.fixture(scope="module", params=harness.programs(), ids=harness.version)
def guarded(request):
    """An etcd that asks for passwords."""
    with asking(request.param, seconds=3600) as cluster:
        yield cluster


@pytest.fixture
def root(guarded):
    with opened(replace(guarded.connection, **auth.ROOT)) as gateway:
        yield gateway


@pytest.fixture
def reader(guarded):
    with opened(replace(guarded.connection, **auth.READER)) as gateway:
        yield gateway


def put(gateway, key, value=b"v"):
    return gateway.txn(Txn((), (Put(key, value),)), timeout=5.0).revision


def logins(gateway, monkeypatch):
    """Counts what it takes to have a token."""
    counted = []
    request = gateway.caller.auth._request
    monkeypatch.setattr(gateway.caller.auth, "_request", lambda receive: (counted.append(1), request(receive)))
    return counted


def test_a_user_may_do_what_its_roles_say(reader):
    put(reader, "/open/a")
    assert reader.range("/open/", prefix=True, timeout=5.0).count >= 1
    with pytest.raises(PermissionDenied, match="permission denied"):
        put(reader, "/closed/a")
    with pytest.raises(PermissionDenied):
        reader.range("/closed/a", timeout=5.0)


@pytest.mark.parametrize("user", ["root", "nobody"])
def test_a_wrong_password_is_an_error_at_once(guarded, user):
    clock = SystemClock()
    with opened(replace(guarded.connection, user=user, password="wrong")) as gateway:  # noqa: S106
        started = clock.now()
        with pytest.raises(PermissionDenied, match="authentication failed"):
            gateway.range("/open/a", timeout=20.0)
        assert clock.now() - started < 10.0
        replies = queue.SimpleQueue()
        gateway.send(Txn((), (Put("/open/a", b""),)), replies.put, timeout=20.0)
        assert isinstance(replies.get(timeout=10.0), PermissionDenied)


def test_without_a_user_nothing_is_allowed(guarded):
    with opened(guarded.connection) as gateway, pytest.raises(Exception, match="user name is empty"):
        gateway.range("/open/a", timeout=5.0)


def spoil(gateway):
    """Have it hold a token that etcd refuses."""
    gateway.caller.auth._token = "spoilt.1"  # noqa: S105  # no secret


def test_row_11_an_expired_token_is_replaced(monkeypatch):
    with asking(None, seconds=1) as cluster, opened(replace(cluster.connection, **auth.ROOT)) as root:
        put(root, "/open/again")
        counted = logins(root, monkeypatch)
        SystemClock().wait(threading.Event(), 2.1)
        put(root, "/open/again")
        assert counted


def test_row_30_a_refused_token_is_replaced_for_every_kind_of_call(root, monkeypatch):
    lease = root.lease_grant(60, timeout=5.0)
    counted = logins(root, monkeypatch)
    replies = queue.SimpleQueue()
    for call in (
        lambda: put(root, "/open/again"),
        lambda: root.range("/open/again", timeout=5.0),
        lambda: root.list("/open/", timeout=5.0),
        lambda: root.send(Txn((), (Put("/open/again", b""),)), replies.put, timeout=5.0) and replies.get(timeout=5.0),
        lambda: root.lease_grant(60, timeout=5.0),
        lambda: root.lease_revoke(lease, timeout=5.0),
    ):
        spoil(root)
        call()
    assert len(counted) == 6


def test_many_calls_with_one_refused_token_authenticate_once(root, monkeypatch):
    put(root, "/open/many")
    counted = logins(root, monkeypatch)
    spoil(root)
    replies = queue.SimpleQueue()
    for n in range(50):
        root.send(Txn((), (Put(f"/open/many/{n}", b""),)), replies.put, timeout=10.0)
    assert all(replies.get(timeout=10.0).succeeded for _ in range(50))
    assert len(counted) == 1


def test_a_change_of_users_outdates_tokens_without_harm(root, reader):
    put(reader, "/open/a")
    auth.call(root, "UserAdd", name="another", password="another's")  # noqa: S106
    put(reader, "/open/a")
    auth.call(root, "UserDelete", name="another")
    put(reader, "/open/a")


def test_row_3_a_watch_with_a_token_that_is_worth_nothing_gets_another(reader):
    items = queue.SimpleQueue()
    start = put(reader, "/open/watched")
    spoil(reader)
    reader.watch([WatchTarget("/open/watched", start_revision=start)], items.put)
    assert items.get(timeout=5.0).events[0].mod_revision == start


def test_a_watch_that_is_not_allowed_says_so_and_does_not_storm(reader, monkeypatch):
    items = []
    counted = logins(reader, monkeypatch)
    watch = reader.watch([WatchTarget("/closed/a")], items.append)
    eventually(lambda: any(isinstance(item.error, PermissionDenied) for item in items), within=5.0)
    SystemClock().wait(threading.Event(), 2.0)
    assert watch.running
    assert len(counted) < 6


def test_a_user_where_none_is_needed_is_let_in(each_etcd, prefix):
    with opened(replace(each_etcd.connection, user="nobody", password="nothing")) as gateway:  # noqa: S106
        put(gateway, prefix)
