"""A cluster of containers, hurt on an engine without Docker."""

import os
import re
import signal
import subprocess
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest

from chaos.cluster.hosted import Continue
from chaos.cluster.interface import Condition, Target
from chaos.compose import signalling
from chaos.compose.cluster import ComposeCluster
from chaos.compose.diary import exit_code, stamp
from chaos.compose.identities import matched
from chaos.compose.remedies import ComposeRemedies
from chaos.compose.roster import is_named
from chaos.errors import NoCluster
from component.clock import SystemClock
from component.process import Gone, Process
from lockd.candidate import Candidate
from lockd.errors import StoreError
from lockd.ports import KeyValue, LockName
from lockd.record import LeaderRecord, display_time
from tests.harness.containers import BEGAN, SECOND, FakeEngine, container
from tests.harness.hasty import HastyClock
from tests.harness.wait import eventually

LOCK = LockName("/lockd", "kube-system", "kube-scheduler")


def candidate(identity, hostname, since=BEGAN):
    return Candidate(identity=identity, hostname=hostname, since=display_time(since / SECOND))


@dataclass
class Etcd:
    """A gateway to candidates and a lease."""

    candidates: list = field(default_factory=list)
    holder: str = ""
    silent: bool = False

    def range(self, key, *, timeout, prefix=False):
        if self.silent:
            raise StoreError("etcd does not answer")
        if prefix:
            values = [each.encode() for each in self.candidates]
        else:
            values = [LeaderRecord(holder_identity=self.holder, lease_duration=15.0, renewal="1").encode()]
        return SimpleNamespace(kvs=tuple(KeyValue(key, value, 1) for value in values))


@pytest.fixture
def engine():
    return FakeEngine().add(
        *(container(f"replica-{number}", "replica", ports={10259: f"127.0.0.1:3000{number}"}) for number in (1, 2)),
        *(container(f"etcd-{number}", "etcd", ports={2379: f"127.0.0.1:2000{number}"}) for number in (1, 2, 3)),
        container("lockd", "lockd"),
        container("demo", "demo"),
    )


@pytest.fixture
def etcd():
    return Etcd([candidate("replica-1_a", "replica-1"), candidate("replica-2_b", "replica-2")])


@pytest.fixture
def cluster(engine, etcd):
    with ComposeCluster(engine, "p", etcd, LOCK, clock=HastyClock()) as made:
        yield made


def test_everybody_goes_by_a_name_an_identity_and_an_address(cluster):
    assert [(each.name, each.identity, each.address) for each in cluster.replicas()] == [
        ("replica-1", "replica-1_a", "http://127.0.0.1:30001"),
        ("replica-2", "replica-2_b", "http://127.0.0.1:30002"),
    ]
    assert cluster.endpoints() == ("127.0.0.1:20001", "127.0.0.1:20002", "127.0.0.1:20003")
    assert [(each.name, each.identity, each.address) for each in cluster.daemons()] == [
        ("lockd-1", "lockd-1", "172.18.0.2:7600")
    ]


def test_of_others_than_those_of_a_role_the_engine_is_not_asked(cluster, engine, monkeypatch):
    """While a fault is seen to, and a hand-off measured, that is done all the time."""
    asked = []
    containers = engine.containers
    monkeypatch.setattr(engine, "containers", lambda *words: asked.append(words) or containers(*words))
    for look in (cluster.replicas, cluster.etcd_members, cluster.daemons):
        look()
    assert asked == [("p", "replica"), ("p", "etcd"), ("p", "lockd")]


def test_the_leader_is_whom_the_lease_names(cluster, etcd):
    etcd.holder = "replica-2_b"
    assert cluster.leader().name == "replica-2"
    etcd.holder = "a-stranger"
    assert cluster.leader() is None
    etcd.holder = ""
    assert cluster.leader() is None


def test_the_leader_of_etcd_is_told_by_itself_and_by_nobody_in_its_place(cluster, engine, etcd):
    engine.add(container("etcd-4", "etcd", running=False, networks=()))

    def status(address, *, timeout):
        assert address  # of nobody in particular whoever is there answers
        number = int(address[-1])
        return SimpleNamespace(member_id=number, leader=2, raft_term=7)

    etcd.status = status
    assert cluster.etcd_members()[3].address == ""
    assert cluster.etcd_leader().name == "etcd-2"


def test_who_was_seen_once_is_known_while_etcd_is_silent(cluster, etcd):
    cluster.replicas()
    etcd.silent = True
    assert [each.identity for each in cluster.replicas()] == ["replica-1_a", "replica-2_b"]


def test_several_are_found_before_any_is_killed(cluster, engine):
    """Else the first one's death would be answered by a second one before it dies."""
    first, second = cluster.replicas()
    engine.found.pop(cluster.container(second).id)
    with pytest.raises(Gone):
        cluster.kill(first, second)
    assert engine.asked == []
    assert cluster.condition(first) is Condition.RUNNING


def test_a_kill_from_inside_has_the_restart_policy_act(cluster, engine, etcd):
    first = cluster.replicas()[0]
    cluster.kill(first)
    assert engine.asked[0][-1] == "KILL"
    assert cluster.condition(first) is Condition.GONE
    etcd.candidates.append(candidate("replica-1_c", "replica-1", since=engine.now))
    heir = cluster.replicas()[0]
    assert (heir.identity, heir.is_same(first)) == ("replica-1_c", False)
    (end,) = cluster.ends()
    assert (end.name, end.identity, end.code) == ("replica-1", "replica-1_a", -9)
    with pytest.raises(Gone):
        cluster.kill(first)


def test_who_came_and_went_unseen_has_no_identity(cluster, engine):
    first = cluster.replicas()[0]
    cluster.kill(first)
    cluster.kill(cluster.replicas()[0])
    assert [each.identity for each in cluster.ends()] == ["replica-1_a", ""]


def test_each_end_is_that_of_its_own_run(cluster, engine, etcd):
    for identity in ("replica-1_c", "replica-1_d"):
        cluster.kill(cluster.replicas()[0])
        etcd.candidates.append(candidate(identity, "replica-1", since=engine.now))
        assert cluster.replicas()[0].identity == identity
    cluster.kill(cluster.replicas()[0])  # comes back unseen
    cluster.kill(cluster.replicas()[0])
    assert [each.identity for each in cluster.ends()] == ["replica-1_a", "replica-1_c", "replica-1_d", ""]


def test_who_is_asked_to_end_is_told_so_inside(cluster, engine):
    cluster.terminate(cluster.replicas()[1])
    assert engine.asked[0][-1] == "TERM"
    assert [each.code for each in cluster.ends()] == [0]


def test_a_paused_one_is_stopped_and_goes_on(cluster):
    first = cluster.etcd_members()[0]
    cluster.pause(first)
    assert cluster.condition(first) is Condition.STOPPED
    cluster.resume(first)
    assert cluster.condition(first) is Condition.RUNNING


def test_ends_are_those_of_replicas_and_daemons(cluster, engine):
    """As of processes: a member that a fault ended is no replica that was killed by nobody."""
    for each in (*cluster.etcd_members(), *cluster.daemons()):
        cluster.kill(each)
    assert [(end.name, end.identity, end.code) for end in cluster.ends()] == [("lockd-1", "lockd-1", -9)]


def test_a_client_of_a_run_is_a_process_of_this_host(cluster):
    """Such as a `lockctl elect` of the workload."""
    child = subprocess.Popen(["sleep", "1000"])
    try:
        client = Target("lockctl-1", "lockctl-1", child.pid, Process.of(child.pid).started, "")
        assert cluster.condition(client) is Condition.RUNNING
        assert ComposeRemedies(cluster).go_on(client) == Continue(client.pid, client.started)
        cluster.pause(client)
        eventually(lambda: cluster.condition(client) is Condition.STOPPED, within=60.0)
        cluster.resume(client)
        eventually(lambda: cluster.condition(client) is Condition.RUNNING, within=60.0)
        cluster.terminate(client)
        eventually(lambda: cluster.condition(client) is Condition.GONE, within=60.0)
        with pytest.raises(Gone):
            cluster.kill(client)
        assert not is_named("lockctl-1")
        assert all(is_named(each.name) for each in (*cluster.replicas(), *cluster.etcd_members(), *cluster.daemons()))
    finally:
        child.kill()
        child.wait()


def test_what_the_engine_tells_is_evidence_to_the_nanosecond(cluster, engine):
    first = cluster.replicas()[0]
    cluster.kill(first)
    died = engine.told[0].at
    assert cluster.evidence(first, "die", died / SECOND) == f"docker told die at {stamp(died)} with exit code 137"
    assert cluster.evidence(first, "die", died / SECOND + 1.0) == ""


def test_a_member_that_ended_stays_away(cluster):
    first = cluster.etcd_members()[0]
    cluster.kill(first)
    assert cluster.condition(first) is Condition.GONE
    assert [each.name for each in cluster.etcd_members()] == ["etcd-1", "etcd-2", "etcd-3"]


def test_who_is_taken_off_its_networks_is_put_back_under_its_aliases(cluster, engine):
    first = cluster.replicas()[0]
    networks = cluster.networks()
    before = networks.of(first)
    networks.leave(first)
    assert networks.of(first) == ()
    networks.join(first, before)
    networks.join(first, before)
    assert networks.of(first) == before


def test_one_that_was_made_anew_is_found_again(cluster, engine):
    first = cluster.replicas()[0]
    del engine.found[cluster.container(first).id]
    with pytest.raises(Gone):
        cluster.kill(first)
    engine.add(container("replica-1", "replica", id="new".ljust(64, "0"), started=BEGAN + SECOND))
    assert cluster.condition(first) is Condition.GONE
    assert not cluster.replicas()[0].is_same(first)


def shoot(engine, number):
    signalling.Aim.at(engine, engine.containers()[0], SystemClock()).send(number)


@pytest.mark.parametrize(
    ("said", "error", "told"),
    [
        ((9, ""), signalling.Unreachable, "init: true"),
        ((127, "sh: not found"), signalling.Unreachable, "has no shell"),
        ((1, "no such process"), Gone, "has ended"),
    ],
)
def test_who_can_not_be_signalled_is_one_line(engine, said, error, told):
    engine.said = said
    with pytest.raises(error, match=re.escape(told)):
        shoot(engine, signal.SIGKILL)


def test_a_shell_that_ended_with_its_container_has_killed_it(engine):
    engine.said = (137, "")
    shoot(engine, signal.SIGKILL)
    with pytest.raises(Gone, match="has ended"):
        shoot(engine, signal.SIGTERM)


def test_a_process_of_this_host_that_has_the_pid_of_one_elsewhere_is_left_alone(monkeypatch):
    """An engine may be that of another host."""
    monkeypatch.setattr(signalling, "_is_first", lambda _: True)
    clock = SystemClock()
    mine = signalling.began(Process.of(os.getpid()), clock)
    here = container("replica-1", "replica", pid=os.getpid(), started=int(mine * SECOND))
    assert signalling.on_this_host(here, clock) == Process.of(os.getpid())
    assert signalling.on_this_host(replace(here, started=here.started - 60 * SECOND), clock) is None


def test_a_project_that_went_away_is_no_cluster(cluster, engine):
    engine.found.clear()
    with pytest.raises(NoCluster):
        cluster.replicas()


def test_candidates_of_an_earlier_run_or_of_others_are_not_taken():
    one = container("replica-1", "replica", started=BEGAN + 10 * SECOND)
    old = candidate("old", "replica-1", since=BEGAN)
    taken = candidate("taken", "replica-1", since=BEGAN + 11 * SECOND)
    assert matched([one], [old, taken, candidate("other", "replica-2", since=BEGAN + 11 * SECOND)], {"taken"}) == {}
    new = candidate("new", "replica-1", since=BEGAN + 12 * SECOND)
    assert matched([one], [old, new, taken], set()) == {(one.id, one.started): "new"}
    assert matched([one], [Candidate(identity="x", hostname="replica-1", since="never")], set()) == {}


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (1, 1), (137, -9), (143, -15), (128, 128)])
def test_exit_codes_say_signals_as_those_of_processes_do(code, expected):
    assert exit_code(code) == expected


def test_a_stamp_has_nine_digits():
    assert stamp(BEGAN + 7) == "2023-11-14T22:13:20.000000007Z"
