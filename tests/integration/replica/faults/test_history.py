"""History that goes missing: compacted under a watch, or taken back by a restored snapshot. And what looks like it."""

from __future__ import annotations

import re
import threading

import pytest

from chaos.auditor import Auditor
from chaos.checks import judge
from chaos.cluster.plan import Plan
from chaos.cluster.replicas import Replicas
from chaos.cluster.ways import Direct
from chaos.ledger import Ledger
from chaos.record import Record
from chaos.report import Report
from chaos.workload import placement
from lockd.etcd.embedded import Embedded
from lockd.etcd.witness import Witness
from tests.harness import crew as harness
from tests.harness import etcd as members
from tests.harness.crew import create, pod
from tests.harness.local import nodes, pods
from tests.harness.proxy import Proxies, Way
from tests.harness.replicas import CLOCK, STEADY, Timing
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

PODS = 20


def test_history_compacted_while_a_replica_is_cut_off_is_listed_anew(prefix, tmp_path):
    # An etcd of its own: audits on the shared one judge from revision 1.
    with (
        Embedded.start(members=3) as etcd,
        Proxies(etcd) as proxies,
        harness.crew(etcd.connection, prefix, tmp_path) as crew,
    ):
        crew.timing = STEADY
        leader = crew.join("a")
        crew.until_leads(leader)
        standby = crew.start("b", connection=proxies.connection)
        crew.until_ready(standby)
        for proxy in proxies.each:
            proxy.refuse()
        eventually(lambda: not standby.ready, within=20.0, what="the standby says that its caches may be old")
        crew.create(nodes(2))
        crew.create(pods(0, PODS))
        crew.until_bound(PODS)
        head = crew.gateway.range(crew.lock.term, timeout=5.0).revision
        assert crew.auditor.history(within=10.0).to_revision >= head
        crew.gateway.compact(head, timeout=5.0)
        proxies.heal()
        eventually(lambda: standby.said("listing anew"), within=20.0, what="the standby lists anew")
        eventually(lambda: standby.ready, within=20.0, what="the standby is ready again")
        leader.terminate()
        crew.until_leads(standby, within=STEADY.lease / 2)
        crew.create(pods(PODS, PODS))
        crew.until_bound(2 * PODS)
        crew.assert_sound(bound=2 * PODS)
        assert set(crew.authors().values()) == {"a", "b"}


class Supervised:
    """Two replicas that are started again when they end."""

    def __init__(self, etcd, prefix, folder):
        self.plan = Plan(folder=folder, prefix=prefix, replicas=2)
        for each in (self.plan.logs, self.plan.traces):
            each.mkdir(parents=True)
        self.told = []
        self.replicas = Replicas(self.plan, Direct(etcd.endpoints), clock=CLOCK, tell=self.told.append)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="supervisor", daemon=True)

    def _run(self):
        self.replicas.start(self.plan.names())
        while not CLOCK.wait(self._stop, 0.05):
            self.replicas.step()
        self.replicas.stop()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(20.0)

    def logs(self):
        return [self.plan.logs / f"{name}.log" for name in self.plan.names()]

    def restarts(self):
        return [state.restarts for state in self.replicas.state()]


def test_an_etcd_restored_under_two_replicas_ends_both_and_they_go_on_afresh(prefix, tmp_path):
    with Embedded.start(members=3, flags=members.QUICK) as etcd:
        with members.opened(etcd.connection) as gateway:
            create(gateway, prefix, (*nodes(2), *pods(0, PODS)))
        members.save(etcd, tmp_path / "saved")
        with Supervised(etcd, prefix, tmp_path / "cluster") as supervised:
            with members.opened(etcd.connection) as gateway:
                eventually(lambda: all(placement(gateway, prefix).values()), within=30.0, what="all pods are bound")
                # One that knows of nothing newer than the snapshot misses nothing, and may go on.
                eventually(
                    lambda: all("new leader observed" in log.read_text() for log in supervised.logs()),
                    within=30.0,
                    what="both replicas know of a term that the snapshot doesn't",
                )
            members.restore(etcd, tmp_path / "saved")
            # Nothing of what the restored etcd has forgotten holds a replica back: no lease is waited for.
            eventually(lambda: supervised.restarts() == [1, 1], within=STEADY.lease, what="both have started again")
            with members.opened(etcd.connection) as gateway, Auditor(gateway, prefix) as auditor:
                create(gateway, prefix, pods(PODS, PODS))
                eventually(
                    lambda: list(map(bool, placement(gateway, prefix).values())) == 2 * PODS * [True],
                    within=30.0,
                    what="all pods are bound once more",
                )
                ledger = Ledger.of(auditor.history(within=20.0))
            identities = {state.identity for state in supervised.replicas.state()}
            logs = [log.read_text() for log in supervised.logs()]
        report = Report.of(ledger, judge(Record(ledger=ledger))).document()
        assert report["violations"] == []
        assert (report["pods"]["bound"], report["pods"]["double_bound"]) == (2 * PODS, 0)
        assert {term["identity"] for term in report["terms"]} <= identities
        ends = [line for line in supervised.told if "ended with" in line]
        assert sorted(re.sub(r"; its log.*", "", line) for line in ends) == [
            "replica-1 ended with code 1",
            "replica-2 ended with code 1",
        ]
        assert all("restored" in log for log in logs)  # in the words of whichever part noticed first


def test_replies_that_arrive_in_the_wrong_order_are_no_restored_etcd(proxies, crew, monkeypatch):
    seen = []
    judge_reply = Witness.judge

    def note_and_judge(self, cluster, revision, *, floor, endpoint=""):
        seen.append((self, endpoint, revision, self.revision))
        judge_reply(self, cluster, revision, floor=floor, endpoint=endpoint)

    monkeypatch.setattr(Witness, "judge", note_and_judge)
    # Renewed often, so that replies to renewals pass a bind's that is held up for less than one attempt.
    crew.timing = Timing(lease=15.0, renew=10.0, retry=0.3)
    leader = crew.join("a", connection=proxies.connection)
    crew.until_leads(leader)
    crew.create(nodes(1))
    crew.create(pod("first"))
    crew.until_bound(1)
    witness, work = leader.replica._election_gateway._witness, leader.replica._work_gateway
    home = work.caller.picker.pick(CLOCK.now())
    slow = next(proxy for proxy in proxies.each if proxy.endpoint == home)
    slow.black_hole(Way.TO_CLIENT)
    crew.create(pod("second"))
    crew.until_bound(2)
    bound = max(kv.mod_revision for kv in crew.gateway.list(f"{crew.prefix}/pods/", timeout=5.0).kvs)
    eventually(lambda: witness.revision > bound, within=10.0, what="a later revision is seen first")
    slow.heal()
    eventually(
        lambda: any((witness, home, bound) == it[:3] and it[3] > bound for it in tuple(seen)),
        within=10.0,
        what="the bind's revision arrives after a later one",
    )
    crew.create(pods(0, PODS))
    crew.until_bound(PODS + 2)
    assert leader.leads
    report = crew.assert_sound(bound=PODS + 2)
    assert [term["identity"] for term in report["terms"]] == ["a"]
