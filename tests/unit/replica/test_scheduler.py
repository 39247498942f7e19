"""The work of a term, from the first event to the last bind, on an etcd in memory."""

from __future__ import annotations

import itertools
import threading

import pytest

from lockd.config import ElectionConfig
from lockd.errors import HistoryLost
from replica.api import codec
from replica.framework.status import SUCCESS, Code, Status, unschedulable
from replica.parts import Settings
from tests.harness import term
from tests.harness.wait import eventually
from tests.harness.world import WITHIN, World

FULL = (
    "0/1 nodes are available: 1 Insufficient cpu. preemption: "
    "0/1 nodes are available: 1 No preemption victims found for incoming pod."
)
IMPOSSIBLE = (
    "0/1 nodes are available: 1 Insufficient cpu. preemption: "
    "0/1 nodes are available: 1 Preemption is not helpful for scheduling."
)


class Plugin:
    """A plugin of one test."""

    name = "Mine"


def told(world, name, reason="FailedScheduling"):
    return [event.note for event in world.events(reason) if event.regarding.name == name]


def test_pods_are_bound_and_their_events_tell():
    with World() as world:
        world.add_node("a")
        world.add_pods("p", "q", requests={"cpu": "1"})
        world.lead()
        world.wait_bound("p", "q")
        eventually(lambda: len(world.events("Scheduled")) == 2, within=WITHIN)
        assert told(world, "p", "Scheduled") == ["Successfully assigned default/p to a"]
        assert world.condition("p").status == "True"
        assert term.read(world.etcd, "p").token == world.leadership.token
        eventually(lambda: world.assumed.counts() == (2, 0), within=WITHIN)
        assert world.queue.in_flight() == 0


def test_became_leader_is_the_first_guarded_write_of_a_term():
    with World() as world:
        world.add_node("a")
        world.add_pods(*(f"p{number}" for number in range(20)))
        world.lead()
        world.wait_bound("p19")
        token = world.leadership.token
        written = [event for event in world.etcd._log if event.mod_revision > token]
        assert written[0].key == f"{term.PREFIX}/events/kube-system/{token}-1"
        assert [event.note for event in world.events("LeaderElection")] == ["me became leader"]


def test_no_pod_is_placed_before_the_caches_have_passed_the_token():
    with World() as world:
        world.add_node("a", allocatable={"cpu": "1", "pods": 10})
        watch = world.etcd.watch_now
        watch.hold()
        # The predecessor's last bind fills the node, and this replica hasn't heard of it.
        world.add_pods("old", requests={"cpu": "1"}, node="a")
        world.add_pods("new", requests={"cpu": "1"})
        asked = []
        wait = world.parts.wait_for_barrier
        world.replace(wait_for_barrier=lambda *args: asked.append(args) or wait(*args))
        world.lead()
        eventually(lambda: len(asked) >= 3, within=WITHIN)
        assert asked[0][0] == world.leadership.token
        assert world.node_of("new") == ""
        assert world.sender.sent == []
        watch.release()
        eventually(lambda: told(world, "new"), within=WITHIN)
        assert told(world, "new") == [FULL]
        assert world.node_of("new") == ""


def test_caches_that_do_not_catch_up_end_the_term_unled():
    reopened = []
    with World(settings=Settings(barrier=0.4, reopen=0.2)) as world:
        world.add_node("a")
        world.add_pods("p")
        object.__setattr__(
            world.parts,
            "wait_for_barrier",
            lambda _revision, _stop, seconds: world.clock.wait(threading.Event(), seconds),
        )
        world.replace(
            wait_for_barrier=lambda _revision, _stop, seconds: world.clock.wait(threading.Event(), seconds),
            reopen_watch=lambda: reopened.append(1),
        )
        world.lead()
        world.wait_for_end()
        assert world.failure is None
        assert reopened == [1]
        assert world.sender.sent == []


def test_a_pod_that_fits_nowhere_is_told_why_and_placed_when_there_is_room():
    with World() as world:
        world.add_node("a", allocatable={"cpu": "1", "pods": 10})
        world.add_node("b", unschedulable=True)
        world.add_pods("p", requests={"cpu": "2"})
        world.lead()
        want = (
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable. preemption: "
            "0/2 nodes are available: 2 Preemption is not helpful for scheduling."
        )
        eventually(lambda: world.condition("p"), within=WITHIN)
        condition = world.condition("p")
        assert (condition.status, condition.reason, condition.message) == ("False", "Unschedulable", want)
        eventually(lambda: told(world, "p") == [want], within=WITHIN)
        eventually(lambda: world.queue.pending()["unschedulable"] == 1, within=WITHIN)
        world.add_node("c", allocatable={"cpu": "4", "pods": 10})
        world.wait_bound("p")
        assert world.node_of("p") == "c"
        assert world.condition("p").status == "True"


def test_its_own_status_does_not_bring_a_pod_back():
    with World() as world:
        world.add_node("a", allocatable={"cpu": "1", "pods": 10})
        world.add_pods("p", requests={"cpu": "2"})
        world.lead()
        eventually(lambda: world.condition("p"), within=WITHIN)
        revision = term.read(world.etcd, "p").mod_revision
        seen = world.informers.pods.lister
        eventually(lambda: world.informers.barrier.applied >= revision, within=WITHIN)
        assert world.queue.pending()["unschedulable"] == 1
        assert seen is not None
        eventually(lambda: told(world, "p") == [IMPOSSIBLE], within=WITHIN)


def test_a_pod_that_needs_volumes_is_refused_in_words():
    with World() as world:
        world.add_node("a")
        world.add_pods("p", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "c"}}])
        world.lead()
        eventually(lambda: told(world, "p"), within=WITHIN)
        assert "volume data is a persistentVolumeClaim" in told(world, "p")[0]
        assert world.node_of("p") == ""


def test_a_gated_pod_waits_without_a_word():
    with World() as world:
        world.add_node("a")
        world.add_pods("gated", schedulingGates=[{"name": "later"}])
        world.lead()
        world.add_pods("p")
        world.wait_bound("p")
        assert world.queue.pending()["gated"] == 1
        assert told(world, "gated") == []
        world.add_pods("gated")
        world.wait_bound("gated")


def test_pods_of_other_schedulers_are_left_to_them():
    with World() as world:
        world.add_node("a")
        world.add_pods("theirs", schedulerName="other")
        world.lead()
        world.add_pods("p")
        world.wait_bound("p")
        assert world.node_of("theirs") == ""


def test_a_pod_being_deleted_is_not_scheduled():
    with World() as world:
        world.add_node("a")
        world.add_pods("p", deleting=True)
        world.lead()
        eventually(lambda: told(world, "p"), within=WITHIN)
        assert told(world, "p") == ["skip schedule deleting pod: default/p"]
        assert world.node_of("p") == ""


def test_a_burst_fills_the_nodes_and_never_over():
    with World() as world:
        for number in range(10):
            world.add_node(f"n{number}", allocatable={"cpu": "4", "pods": 30})
        names = [f"p{number}" for number in range(400)]
        world.add_pods(*names, requests={"cpu": "100m"})
        world.lead()
        eventually(lambda: sum(map(bool, world.placed(names).values())) == 300, within=WITHIN)
        eventually(lambda: world.queue.pending()["unschedulable"] == 100, within=WITHIN)
        placed = [node for node in world.placed(names).values() if node]
        assert {placed.count(f"n{number}") for number in range(10)} == {30}


# --- what goes wrong with binds


def test_a_bind_whose_reply_is_lost_is_not_made_twice():
    with World() as world:
        world.add_node("a")
        world.add_node("b")
        world.sender.plan.append("lost")
        world.add_pods("p", requests={"cpu": "1"})
        world.lead()
        world.wait_bound("p")
        eventually(lambda: world.events("Scheduled"), within=WITHIN)
        eventually(lambda: world.assumed.counts() == (1, 0), within=WITHIN)
        bound = [event for event in world.etcd._log if event.key == term.pod_key("p")]
        assert len(bound) == 2
        assert len(world.sender.sent) == 2


def test_a_pod_changed_under_its_bind_is_tried_again_when_the_change_is_seen():
    with World() as world:
        world.add_node("a")
        world.sender.plan.append("held")
        world.add_pods("p", requests={"cpu": "1"})
        world.lead()
        eventually(lambda: world.sender.sent, within=WITHIN)
        watch = world.etcd.watch_now
        watch.hold()
        world.add_pods("p", uid=term.read(world.etcd, "p").uid, requests={"cpu": "2"})
        world.sender.commit(world.sender.sent[0])
        # Until the cache has passed the answer the pod keeps its room, and is not tried again.
        eventually(lambda: not world.scheduler._under_way()[0], within=WITHIN)
        assert world.assumed.counts() == (0, 1)
        assert world.queue.pending() == {"active": 0, "backoff": 0, "unschedulable": 0, "gated": 0}
        watch.release()
        world.wait_bound("p")
        eventually(lambda: world.assumed.counts() == (1, 0), within=WITHIN)
        assert world.table.snapshot().requested[0].sum() == 2000


def test_a_pod_deleted_under_its_bind_leaves_nothing_behind():
    with World() as world:
        world.add_node("a")
        world.sender.plan.append("held")
        world.add_pods("p", requests={"cpu": "1"})
        world.lead()
        eventually(lambda: world.sender.sent, within=WITHIN)
        world.etcd.delete(term.pod_key("p"))
        eventually(lambda: world.assumed.counts() == (0, 0), within=WITHIN)
        world.sender.commit(world.sender.sent[0])
        eventually(lambda: world.queue.in_flight() == 0, within=WITHIN)
        assert not world.table.snapshot().requested.any()


def test_a_pod_bound_by_its_user_meanwhile_stays_where_they_put_it():
    with World() as world:
        world.add_node("a")
        world.add_node("b")
        world.sender.plan.append("held")
        world.add_pods("p", requests={"cpu": "1"})
        world.lead()
        eventually(lambda: world.sender.sent, within=WITHIN)
        (intended,) = [each for each in ("a", "b") if world.table.snapshot().pods[world.table.row(each)]]
        other = "b" if intended == "a" else "a"
        world.add_pods("p", uid=term.read(world.etcd, "p").uid, requests={"cpu": "1"}, node=other)
        world.sender.commit(world.sender.sent[0])
        eventually(lambda: world.queue.in_flight() == 0, within=WITHIN)
        assert world.node_of("p") == other
        view = world.table.snapshot()
        assert view.requested[0, view.index[intended]] == 0
        assert view.requested[0, view.index[other]] == 1000


def test_a_pod_too_large_for_etcd_fails_alone_with_an_event():
    with World() as world:
        world.add_node("a")
        world.sender.largest = 50_000
        world.add_pods("large", comment="x" * 60_000)
        world.add_pods("p")
        world.lead()
        world.wait_bound("p")
        eventually(lambda: told(world, "large"), within=WITHIN)
        assert told(world, "large")[0].startswith("the pod is too large to be bound")
        eventually(lambda: world.assumed.counts() == (1, 0), within=WITHIN)


def test_a_node_that_goes_before_it_is_taken_is_told_of():
    with World() as world:
        world.add_node("a")
        eventually(lambda: world.table.row("a") is not None, within=WITHIN)
        assume = world.assumed.assume

        def late(pod, node_name):
            world.table.remove_node(node_name)
            return assume(pod, node_name)

        world.assumed.assume = late
        # Not what is stored: with no node left the next attempt says something else, which becomes the note of both.
        seen = world.broadcaster.subscribe("seen", wants=lambda event: event.reason == "FailedScheduling")
        world.add_pods("p")
        world.lead()
        assert seen.take(1, threading.Event(), WITHIN)[0].note == "node a is gone"
        assert world.assumed.counts() == (0, 0)


def test_a_pod_bound_by_somebody_else_in_the_midst_of_its_cycle_is_let_be():
    with World() as world:
        world.add_node("a")
        assume = world.assumed.assume

        def late(pod, node_name):
            world.assumed.observe(pod.on("b"))
            return assume(pod, node_name)

        world.assumed.assume = late
        world.add_pods("p")
        world.lead()
        eventually(lambda: world.assumed.counts() == (1, 0) and not world.queue.in_flight(), within=WITHIN)
        assert told(world, "p") == []
        assert world.sender.sent == []


def test_no_more_places_are_given_than_can_be_bound(monkeypatch):
    monkeypatch.setattr("replica.term.MOST_BINDING", 5)
    monkeypatch.setattr("replica.term.BATCH", 2)
    with World() as world:
        world.add_node("a")
        world.sender.plan.extend(["held"] * 100)
        names = [f"p{number}" for number in range(30)]
        world.add_pods(*names)
        world.lead()
        eventually(lambda: world.scheduler._under_way()[0] >= 5, within=WITHIN)
        ticks = []
        world.leadership.tick = lambda until=None: ticks.append(until)
        eventually(lambda: len(ticks) > 3, within=WITHIN)
        assert world.assumed.counts()[1] <= 6
        world.sender.plan.clear()
        for sent in tuple(world.sender.sent):
            world.sender.commit(sent)
        world.wait_bound(*names)


def test_an_event_whose_lease_is_gone_is_written_with_another():
    with World() as world:
        lease = world.parts.leases.current()
        world.etcd.lease_revoke(lease, timeout=1)
        world.lead()
        eventually(lambda: world.events("LeaderElection"), within=WITHIN)
        assert world.parts.leases.at_hand() not in {0, lease}


# --- plugins


class Raises(Plugin):
    def filter(self, state, pod, nodes):
        if pod.name == "poison":
            raise ZeroDivisionError("bad pod")

    def explain(self, state, pod, nodes):
        return ()


def test_a_plugin_that_raises_ends_that_pods_cycle_and_not_the_loop():
    with World(Raises()) as world:
        world.add_node("a")
        world.add_pods("poison")
        world.lead()
        eventually(lambda: told(world, "poison"), within=WITHIN)
        assert told(world, "poison")[0] == "running Filter plugin 'Mine': bad pod"
        eventually(lambda: world.condition("poison"), within=WITHIN)
        assert world.condition("poison").reason == "SchedulerError"
        world.add_pods("p")
        world.wait_bound("p")
        assert world.work.is_alive()


class Stages(Plugin):
    """Refuses or fails at one stage after the pod has its place, the first time."""

    def __init__(self, stage, status):
        self.stage, self.status, self.undone, self.threads = stage, status, [], set()

    def _say(self, stage):
        self.threads.add(threading.current_thread().name.rpartition("/")[2])
        if stage == self.stage:
            self.stage = ""
            return self.status
        return SUCCESS

    def reserve(self, state, pod, node_name):
        return self._say("reserve")

    def unreserve(self, state, pod, node_name):
        self.undone.append(pod.name)

    def permit(self, state, pod, node_name):
        return self._say("permit"), 0.0

    def pre_bind(self, state, pod, node_name):
        return self._say("pre_bind")


@pytest.mark.parametrize("stage", ["reserve", "permit", "pre_bind"])
@pytest.mark.parametrize(
    ("status", "reason"),
    [(unschedulable("not yet"), "Unschedulable"), (Status(Code.ERROR, ("broken",)), "SchedulerError")],
)
def test_a_place_refused_late_is_given_back_and_found_again(stage, status, reason):
    plugin = Stages(stage, status)
    with World(plugin) as world:
        world.add_node("a", allocatable={"cpu": "1", "pods": 10})
        world.add_pods("p", requests={"cpu": "1"})
        world.lead()
        eventually(lambda: told(world, "p"), within=WITHIN)
        assert told(world, "p") == [status.reasons[0]]
        assert set(plugin.undone) == {"p"}
        world.queue.activate(["default/p"])
        world.wait_bound("p")
        eventually(lambda: world.assumed.counts() == (1, 0), within=WITHIN)
        assert any(name.startswith("pre-bind") for name in plugin.threads)


class Holds(Plugin):
    """Permit: pods wait until the test lets them."""

    def permit(self, state, pod, node_name):
        return (Status(Code.WAIT), 30.0) if pod.name.startswith("held") else (SUCCESS, 0.0)


def test_a_pod_held_by_permit_keeps_its_room_and_others_pass():
    with World(Holds()) as world:
        world.add_node("a", allocatable={"cpu": "2", "pods": 10})
        world.add_pods("held", requests={"cpu": "1"})
        world.lead()
        eventually(lambda: len(world.waiting) == 1, within=WITHIN)
        world.add_pods("p", requests={"cpu": "1"})
        world.wait_bound("p")
        assert world.node_of("held") == ""
        (waiting,) = world.waiting.all()
        world.waiting.allow(waiting.pod.uid, "Mine")
        world.wait_bound("held")


def test_a_pod_rejected_while_it_waits_is_told_and_gives_its_room_back():
    with World(Holds()) as world:
        world.add_node("a")
        world.add_pods("held", requests={"cpu": "1"})
        world.lead()
        (waiting,) = eventually(world.waiting.all, within=WITHIN)
        world.waiting.reject(waiting.pod.uid, "Mine", "the gang is not complete")
        eventually(lambda: told(world, "held"), within=WITHIN)
        assert told(world, "held") == ["the gang is not complete"]
        assert world.assumed.counts() == (0, 0)


# --- the end of a term


def test_asked_to_stop_it_settles_what_is_in_flight_and_begins_nothing_more():
    with World() as world:
        world.add_node("a")
        world.sender.plan.append("held")
        world.add_pods("p")
        world.lead()
        eventually(lambda: world.sender.sent, within=WITHIN)
        world.leadership.draining.set()
        world.add_pods("q")
        assert world.work.is_alive()
        world.sender.commit(world.sender.sent[0])
        world.wait_for_end()
        assert world.failure is None
        assert world.node_of("p") == "a"
        assert world.node_of("q") == ""
        assert not world.leadership.lost.is_set()


@pytest.mark.parametrize("how", ["draining", "lost"])
def test_an_idle_leader_hears_of_the_end_and_waits_for_no_poll(how, monkeypatch):
    for poll in ("replica.term.IDLE_POLL", "replica.queue.scheduling.LONGEST_WAIT"):
        monkeypatch.setattr(poll, 1.2 * WITHIN)
    with World() as world:
        world.lead()
        eventually(lambda: world.queue._changed._waiters, within=WITHIN, what="it waits for pods")
        getattr(world.leadership, how).set()
        world.wait_for_end()


def test_a_drain_ends_at_its_bound_whatever_hangs():
    with World(settings=Settings(attempt=0.2, drain=0.3)) as world:
        world.add_node("a")
        world.sender.plan.extend(["held"] * 50)
        world.add_pods("p")
        world.lead()
        eventually(lambda: world.sender.sent, within=WITHIN)
        world.leadership.draining.set()
        world.wait_for_end()
        assert world.assumed.counts() == (0, 1)  # it may still be bound


def test_pods_waiting_in_permit_are_rejected_at_the_end():
    with World(Holds()) as world:
        world.add_node("a")
        world.add_pods("held")
        world.lead()
        eventually(lambda: len(world.waiting) == 1, within=WITHIN)
        world.leadership.draining.set()
        world.wait_for_end()
        assert len(world.waiting) == 0
        assert world.assumed.counts() == (0, 0)
        assert world.node_of("held") == ""


def test_a_lost_term_stops_at_once_and_writes_nothing_more():
    with World() as world:
        world.add_node("a")
        world.lead()
        eventually(lambda: world.events("LeaderElection"), within=WITHIN)
        world.leadership.lost.set()
        world.wait_for_end()
        sent = len(world.sender.sent)
        world.add_pods("p")
        revision = world.etcd.revision
        eventually(lambda: world.queue.pending()["active"] == 1, within=WITHIN)
        assert len(world.sender.sent) == sent
        assert world.etcd.revision == revision


def test_a_refused_bind_ends_the_term_at_once():
    with World() as world:
        world.add_node("a")
        world.lead()
        eventually(lambda: world.events("LeaderElection"), within=WITHIN)
        term.depose(world.etcd)
        world.add_pods("p")
        world.wait_for_end()
        assert world.leadership.lost.is_set()
        assert world.node_of("p") == ""
        assert world.assumed.counts() == (0, 0)


def test_the_next_term_of_the_same_process_takes_up_what_the_last_left():
    with World() as world:
        world.add_node("a", allocatable={"cpu": "1", "pods": 10})
        world.sender.plan.extend(["held"] * 50)
        world.add_pods("p", requests={"cpu": "1"})
        world.lead()
        eventually(lambda: world.sender.sent, within=WITHIN)
        world.leadership.lost.set()
        world.wait_for_end()
        assert world.assumed.counts() == (0, 1)
        world.sender.plan.clear()
        world.lead()
        world.wait_bound("p")
        eventually(lambda: world.assumed.counts() == (1, 0), within=WITHIN)
        assert codec.parse_envelope("", world.etcd.get(term.pod_key("p")).value).fencing_token == world.leadership.token


def test_another_etcd_raises_out_of_the_work():
    with World() as world:
        world.add_node("a")
        world.sender.plan.append(HistoryLost("restored"))
        world.add_pods("p")
        world.lead()
        world.wait_for_end()
        assert isinstance(world.failure, HistoryLost)


def test_what_is_broken_beside_plugins_raises_out_of_the_work():
    with World() as world:
        world.add_node("a")
        world.table.snapshot = lambda: 1 / 0
        world.add_pods("p")
        world.lead()
        world.wait_for_end()
        assert isinstance(world.failure, ZeroDivisionError)


def test_an_idle_loop_ticks():
    with World() as world:
        world.lead()
        eventually(lambda: world.events("LeaderElection"), within=WITHIN)
        ticks = []
        world.leadership.tick = lambda until=None: ticks.append(world.clock.now())
        eventually(lambda: len(ticks) >= 5, within=WITHIN)
        most = max(after - before for before, after in itertools.pairwise(ticks))
        assert most < ElectionConfig(identity="me").renew_deadline


def test_the_farewell_goes_on_where_the_terms_events_ended():
    with World() as world:
        world.lead()
        eventually(lambda: world.events("LeaderElection"), within=WITHIN)
        token = world.leadership.token
        world.leadership.draining.set()
        world.wait_for_end()
        (put,) = world.scheduler.farewell(token)
        assert put.key.startswith(f"{term.PREFIX}/events/kube-system/{token}-")
        assert world.etcd.get(put.key) is None
        world.etcd.put(put.key, put.value)
        assert [event.note for event in world.events("LeaderElection")] == ["me became leader", "me stopped leading"]
