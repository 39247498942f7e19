"""`chaosctl audit` on an etcd that has compacted its history. It has an etcd of its own."""

import json

import pytest
from click.testing import CliRunner

from chaos.auditor import Auditor
from chaos.ctl import main
from lockd.etcd.embedded import Embedded
from tests.harness.etcd import opened
from tests.harness.stored_history import StoredHistory


@pytest.fixture(scope="module")
def own():
    with Embedded.start() as cluster:
        yield cluster


@pytest.fixture
def own_gateway(own):
    with opened(own.connection) as gateway:
        yield gateway


def test_what_is_left_is_judged_and_said_to_be_incomplete(own, own_gateway, prefix):
    store = StoredHistory(own_gateway, prefix)
    store.node("n1", cpu="2")
    store.pod("p1")
    store.token = store.acquire("A")
    store.bind("p1", "n1")
    cut = store.revision
    own_gateway.compact(cut, timeout=10.0)
    store.bind("p1", "n2")
    words = ["audit", "--endpoints", ",".join(own.endpoints), "--prefix", prefix]
    result = CliRunner().invoke(main, [*words, "-o", "json"])
    assert result.exit_code == 4
    document = json.loads(result.stdout)
    assert (document["from_revision"], document["incomplete"]) == (cut, True)
    assert [violation["check"] for violation in document["violations"]] == ["double-bind"]
    assert f"INCOMPLETE: etcd has compacted what was before revision {cut}" in CliRunner().invoke(main, words).stdout


def test_without_a_violation_it_is_incomplete_all_the_same(own, own_gateway, prefix):
    store = StoredHistory(own_gateway, prefix)
    store.pod("p1", gate="wait")
    own_gateway.compact(store.revision, timeout=10.0)
    result = CliRunner().invoke(main, ["audit", "--endpoints", ",".join(own.endpoints), "--prefix", prefix])
    assert result.exit_code == 4


def test_a_compaction_of_what_was_read_takes_nothing_away(own_gateway, prefix):
    store = StoredHistory(own_gateway, prefix)
    store.pod("p1")
    with Auditor(own_gateway, prefix) as auditor:
        first = auditor.history(within=30.0)
        store.pod("p2")
        own_gateway.compact(store.revision, timeout=10.0)
        store.pod("p3")
        history = auditor.history(within=30.0)
    assert history.from_revision == first.from_revision
    assert [change.key for change in history.changes][-3:] == [f"pods/default/p{number}" for number in (1, 2, 3)]
