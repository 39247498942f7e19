"""A stale write in a real etcd is found in its history."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from chaos.auditor import Auditor
from chaos.pytest.judging import AssertNoStaleWrites, StaleWrites
from component.clock import SystemClock
from lockd.ports import Put, Txn
from tests.harness.electors import contest
from tests.harness.history import pod

pytestmark = pytest.mark.etcd

CLOCK = SystemClock()


@pytest.fixture
def tokens(etcd, prefix):
    """Of two terms, one after the other; the second lasts."""
    with contest(prefix) as made:
        first = made.enter("A", etcd.connection)
        token = int(first.wait_to_lead().token)
        second = made.enter("B", etcd.connection)
        first.elector.request_stop()
        first.wait_to_end()
        yield token, int(second.wait_to_lead().token)


@pytest.fixture
def judge(gateway, prefix):
    with Auditor(gateway, prefix, clock=CLOCK) as auditor:
        yield AssertNoStaleWrites(SimpleNamespace(auditor=auditor, gateway=gateway), since=1, clock=CLOCK)


def put(gateway, key, value):
    return gateway.txn(Txn((), (Put(key, value),)), timeout=10.0).revision


def test_of_a_replica(tokens, judge, gateway, prefix):
    old, new = tokens
    put(gateway, f"{prefix}/pods/default/p1", pod("p1", token=new))
    assert judge(at_least=1) == 1
    late = put(gateway, f"{prefix}/pods/default/p2", pod("p2", token=old))
    with pytest.raises(StaleWrites) as refused:
        judge()
    assert [(each.revision, each.key, each.token) for each in refused.value.violations] == [
        (late, "pods/default/p2", old)
    ]


def test_of_a_service_of_ones_own_under_keys_of_its_own(tokens, judge, gateway, prefix):
    old, new = tokens
    under = f"{prefix}-shop/"
    put(gateway, f"{under}last", json.dumps({"by": new}).encode())

    def by(value):
        return json.loads(value)["by"]

    assert judge(under, token=by, at_least=1) == 1
    late = put(gateway, f"{under}last", json.dumps({"by": old}).encode())
    with pytest.raises(
        StaleWrites, match=rf"revision {late}  last  stale-token: put with token {old}, whose term \(A\)"
    ):
        judge(under, token=by)
