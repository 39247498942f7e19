"""The scheduling queue, on a clock that stands still."""

from __future__ import annotations

import threading

import pytest

from replica.api.labels import labels_from
from replica.api.pods import Pod
from replica.api.podspec import PodSpec
from replica.queue.hints import (
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    Action,
    ClusterEvent,
    Hint,
    Hints,
    Registration,
    Resource,
)
from replica.queue.scheduling import SchedulingQueue
from tests.harness.clock import ManualClock

FIT, AFFINITY = "NodeResourcesFit", "NodeAffinity"
ANY_NODE = ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE)


def pod(name, *, uid="", priority=None, gates=(), labels="{}", revision=1, nominated=""):
    return Pod(
        name=name,
        namespace="default",
        uid=uid or f"uid-{name}",
        labels=labels_from(labels.encode()),
        mod_revision=revision,
        nominated=nominated,
        spec=PodSpec(priority=priority, gates=gates),
    )


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def queue(clock):
    return SchedulingQueue(clock=clock, gate=lambda pod: "SchedulingGates" if pod.spec.gates else "")


def pop(queue, most=1):
    return queue.pop_batch(most, threading.Event(), 0)


def names(popped):
    return [queued.pod.name for queued in popped]


def sizes(queue):
    return tuple(queue.pending().values())


def fail(queue, name, plugins=(FIT,)):
    """Pop pod `name` and bring it back refused."""
    (popped,) = pop(queue)
    assert popped.pod.name == name
    return queue.requeue(popped, plugins)


# --- order


def test_the_higher_priority_comes_first_then_whoever_waits_longer(queue, clock):
    for name, priority in (("low", 1), ("first", 5), ("second", 5), ("none", None), ("high", 9)):
        queue.add(pod(name, priority=priority))
        clock.advance(1)
    assert names(pop(queue, 10)) == ["high", "first", "second", "low", "none"]


def test_pods_of_one_moment_keep_the_order_they_came_in(queue):
    for number in range(20):
        queue.add(pod(f"pod-{number}"))
    assert names(pop(queue, 20)) == [f"pod-{number}" for number in range(20)]


def test_a_batch_holds_no_more_than_asked_for_and_counts_the_attempt(queue):
    for number in range(5):
        queue.add(pod(f"pod-{number}"))
    batch = pop(queue, 3)
    assert [queued.attempts for queued in batch] == [1, 1, 1]
    assert (sizes(queue), queue.in_flight()) == ((2, 0, 0, 0), 3)


def test_an_updated_priority_moves_a_waiting_pod_ahead(queue):
    queue.add(pod("a", priority=1))
    queue.add(pod("b", priority=2))
    queue.update(pod("a", priority=1), pod("a", priority=3, revision=2))
    assert names(pop(queue, 2)) == ["a", "b"]


def test_another_order_and_other_priorities_can_be_given(clock):
    queue = SchedulingQueue(
        clock=clock,
        order=lambda queued: (queued.priority, queued.pod.name),
        priority=lambda pod: {"a": 3, "b": 2, "c": 3}[pod.name],
    )
    for name in "cab":
        queue.add(pod(name))
    assert names(pop(queue, 3)) == ["b", "a", "c"]


# --- failing


def test_a_refused_pod_is_unschedulable_until_something_may_help(queue, clock):
    queue.add(pod("a"))
    assert fail(queue, "a") == "unschedulable"
    clock.advance(1)  # its backoff is over
    assert pop(queue) == []
    assert queue.move_all(NODE_ADD) == 1
    assert sizes(queue) == (1, 0, 0, 0)


def test_a_pod_that_is_helped_early_serves_its_backoff_first(queue, clock):
    queue.add(pod("a"))
    fail(queue, "a")
    queue.move_all(NODE_ADD)
    assert sizes(queue) == (0, 1, 0, 0)
    clock.advance(0.999)
    assert pop(queue) == []
    clock.advance(0.001)
    assert names(pop(queue)) == ["a"]


def test_backoff_doubles_from_one_second_to_ten(queue, clock):
    queue.add(pod("a"))
    waits = []
    for _ in range(6):
        (popped,) = pop(queue)
        assert queue.requeue(popped) == "backoff"
        before = clock.now()
        while not queue.pending()["active"]:
            clock.advance(0.25)
        waits.append(clock.now() - before)
    assert waits == [1, 2, 4, 8, 10, 10]


def test_an_error_is_no_refusal_and_needs_no_event(queue, clock):
    queue.add(pod("a"))
    assert fail(queue, "a", plugins=()) == "backoff"
    clock.advance(1)
    assert names(pop(queue)) == ["a"]


def test_a_forgotten_pod_is_flushed_after_five_minutes(queue, clock):
    for name in "ab":
        queue.add(pod(name))
        fail(queue, name)
        clock.advance(100)
    clock.advance(99)
    assert pop(queue) == []
    clock.advance(1)
    assert names(pop(queue, 5)) == ["a"]
    clock.advance(100)
    assert names(pop(queue, 5)) == ["b"]


# --- events during a pod's own cycle


def test_an_event_during_its_own_cycle_sends_a_pod_to_backoff(queue, clock):
    queue.add(pod("a"))
    (popped,) = pop(queue)
    queue.move_all(NODE_ADD)
    assert queue.requeue(popped, [FIT]) == "backoff"


def test_an_event_before_its_cycle_does_not_count(queue):
    queue.add(pod("other"))
    queue.add(pod("a"))
    pop(queue)  # keeps events alive
    queue.move_all(NODE_ADD)
    assert fail(queue, "a") == "unschedulable"


def test_an_event_that_no_refusing_plugin_asked_for_does_not_count(clock):
    hints = Hints.of([Registration(FIT, ANY_NODE)])
    queue = SchedulingQueue(clock=clock, hints=hints)
    queue.add(pod("a"))
    (popped,) = pop(queue)
    queue.move_all(ASSIGNED_POD_DELETE)
    assert queue.requeue(popped, [FIT]) == "unschedulable"


def test_events_are_kept_only_for_pods_in_flight(queue):
    for name in "abc":
        queue.add(pod(name))
    flights = queue._flights
    first, second = *pop(queue), *pop(queue)
    queue.move_all(NODE_ADD)
    (third,) = pop(queue)
    queue.move_all(NODE_ADD)
    assert flights.happenings == 2
    queue.done(first.key)
    queue.done(second.key)
    assert flights.happenings == 1
    queue.requeue(third, [FIT])
    assert flights.happenings == 0
    queue.move_all(NODE_ADD)
    assert flights.happenings == 0


def test_too_many_events_to_remember_count_as_a_chance(queue):
    queue._flights._limit = 10
    queue._hints = Hints.of([Registration(FIT, ANY_NODE)])
    queue.add(pod("a"))
    (popped,) = pop(queue)
    queue.move_all(NODE_ADD)
    for _ in range(20):
        queue.move_all(ASSIGNED_POD_DELETE)
    assert queue._flights.happenings == 10
    assert queue.requeue(popped, [FIT]) == "backoff"


def test_its_own_update_during_its_cycle_is_kept_and_counts(queue):
    queue.add(pod("a"))
    (popped,) = pop(queue)
    queue.update(pod("a"), pod("a", labels='{"x":"y"}', revision=7))
    assert queue.requeue(popped, [AFFINITY]) == "backoff"
    assert queue.get("default/a").pod.mod_revision == 7


def test_its_own_status_written_during_its_cycle_is_kept_and_does_not_count(queue):
    queue.add(pod("a"))
    (popped,) = pop(queue)
    queue.update(pod("a"), pod("a", revision=7, nominated="node-1"))
    assert queue.requeue(popped, [AFFINITY]) == "unschedulable"
    assert queue.get("default/a").pod.mod_revision == 7


def test_a_pod_deleted_during_its_cycle_does_not_come_back(queue):
    queue.add(pod("a"))
    (popped,) = pop(queue)
    queue.delete("default/a")
    assert queue.requeue(popped, [FIT]) == ""
    assert (sizes(queue), queue.in_flight()) == ((0, 0, 0, 0), 0)


@pytest.mark.parametrize("end", ["done", "requeue"])
def test_a_namesake_that_came_during_its_cycle_is_a_new_pod(queue, end):
    queue.add(pod("a"))
    (popped,) = pop(queue)
    queue.delete("default/a")
    queue.add(pod("a", uid="another", revision=5))
    assert pop(queue) == []  # one at a time under a name
    queue.done(popped.key) if end == "done" else queue.requeue(popped, [FIT])
    (fresh,) = pop(queue)
    assert (fresh.pod.uid, fresh.attempts) == ("another", 1)


def test_a_pod_that_comes_back_twice_is_there_once(queue):
    queue.add(pod("a"))
    (popped,) = pop(queue)
    queue.requeue(popped, [FIT])
    assert queue.requeue(popped, []) == ""
    assert sizes(queue) == (0, 0, 1, 0)


# --- hints


def hint(answer):
    return lambda *_: answer


@pytest.mark.parametrize(
    ("registrations", "event", "refused_by", "moves"),
    [
        ([], NODE_ADD, [FIT], True),
        ([Registration(FIT, ANY_NODE)], NODE_ADD, [FIT], True),
        ([Registration(FIT, ANY_NODE)], ASSIGNED_POD_DELETE, [FIT], False),
        ([Registration(FIT, ANY_NODE, hint(Hint.SKIP))], NODE_ADD, [FIT], False),
        ([Registration(FIT, ANY_NODE, hint(Hint.QUEUE))], NODE_ADD, [FIT], True),
        ([Registration(FIT, ANY_NODE, hint(Hint.SKIP)), Registration(FIT, NODE_ADD)], NODE_ADD, [FIT], True),
        ([Registration(FIT, ANY_NODE, hint(Hint.SKIP))], NODE_ADD, [FIT, AFFINITY], True),
        ([Registration(AFFINITY, ANY_NODE)], NODE_ADD, [FIT], True),
        ([Registration(FIT, ClusterEvent(Resource.ANY, Action.ALL))], ASSIGNED_POD_DELETE, [FIT], True),
        ([Registration(FIT, ClusterEvent(Resource.NODE, Action.UPDATE_NODE_LABEL))], NODE_ADD, [FIT], False),
    ],
)
def test_hints_decide_who_moves(clock, registrations, event, refused_by, moves):
    queue = SchedulingQueue(clock=clock, hints=Hints.of(registrations))
    queue.add(pod("a"))
    fail(queue, "a", refused_by)
    assert queue.move_all(event) == int(moves)


def test_a_hint_sees_the_pod_and_both_states(clock):
    seen = []
    registration = Registration(FIT, ANY_NODE, lambda *arguments: seen.append(arguments) or Hint.SKIP)
    queue = SchedulingQueue(clock=clock, hints=Hints.of([registration]))
    queue.add(pod("a"))
    fail(queue, "a")
    queue.move_all(NODE_ADD, old="before", new="after")
    assert seen == [(pod("a"), "before", "after")]


def test_a_hint_that_raises_moves_the_pod(clock):
    def broken(*_):
        raise RuntimeError("no hint")

    queue = SchedulingQueue(clock=clock, hints=Hints.of([Registration(FIT, ANY_NODE, broken)]))
    queue.add(pod("a"))
    fail(queue, "a")
    assert queue.move_all(NODE_ADD) == 1


def test_a_check_spares_the_hints_of_pods_that_the_event_cannot_help(queue):
    for name in "ab":
        queue.add(pod(name))
        fail(queue, name)
    assert queue.move_all(NODE_ADD, check=lambda pod: pod.name == "b") == 1
    assert sizes(queue) == (0, 1, 1, 0)


# --- gates


def test_a_gated_pod_waits_apart_until_its_gates_are_gone(queue):
    queue.add(pod("a", gates=("wait",)))
    assert sizes(queue) == (0, 0, 0, 1)
    assert queue.move_all(NODE_ADD) == 0
    queue.update(None, pod("a", gates=("wait",), labels='{"x":"y"}'))
    assert sizes(queue) == (0, 0, 0, 1)
    queue.update(None, pod("a"))
    assert sizes(queue) == (1, 0, 0, 0)
    (popped,) = pop(queue)
    assert popped.gated_by == ""


def test_an_event_that_the_gating_plugin_asked_for_tries_the_gate_again(clock):
    shut = [True]
    queue = SchedulingQueue(
        clock=clock,
        hints=Hints.of([Registration("Gate", ANY_NODE)]),
        gate=lambda _: "Gate" if shut[0] else "",
    )
    queue.add(pod("a"))
    queue.move_all(NODE_ADD)
    assert sizes(queue) == (0, 0, 0, 1)
    shut[0] = False
    queue.move_all(ASSIGNED_POD_DELETE)
    assert sizes(queue) == (0, 0, 0, 1)
    queue.move_all(NODE_ADD)
    assert sizes(queue) == (1, 0, 0, 0)


# --- updates, deletions, activation


def test_an_update_that_matters_moves_an_unschedulable_pod(queue):
    queue.add(pod("a"))
    fail(queue, "a")
    queue.update(pod("a"), pod("a", labels='{"x":"y"}', revision=2))
    assert sizes(queue) == (0, 1, 0, 0)
    assert queue.get("default/a").pod.mod_revision == 2


def test_a_status_of_the_schedulers_own_does_not(queue):
    queue.add(pod("a"))
    fail(queue, "a")
    queue.update(pod("a"), pod("a", revision=2, nominated="node-1"))
    assert sizes(queue) == (0, 0, 1, 0)
    assert queue.get("default/a").pod.mod_revision == 2


def test_a_refreshed_pod_keeps_its_turn_at_the_flush(queue, clock):
    for name in "ab":
        queue.add(pod(name))
        fail(queue, name)
        clock.advance(100)
    queue.update(pod("a"), pod("a", revision=2))
    clock.advance(100)
    assert names(pop(queue, 5)) == ["a"]


def test_a_deleted_pod_leaves_every_queue(queue):
    for name, gates in (("gated", ("g",)), ("stuck", ()), ("backing", ()), ("active", ())):
        queue.add(pod(name, gates=gates))
        if name == "stuck":
            fail(queue, "stuck")
        if name == "backing":
            fail(queue, "backing", ())
    assert sizes(queue) == (1, 1, 1, 1)
    for name in ("gated", "stuck", "backing", "active", "unknown"):
        queue.delete(f"default/{name}")
    assert sizes(queue) == (0, 0, 0, 0)


def test_a_namesake_starts_anew(queue):
    queue.add(pod("a"))
    fail(queue, "a")
    queue.update(pod("a"), pod("a", uid="another"))
    (fresh,) = pop(queue)
    assert (fresh.pod.uid, fresh.attempts) == ("another", 1)


def test_a_pod_told_of_twice_is_there_once(queue):
    queue.add(pod("a"))
    queue.add(pod("a", revision=2))
    assert sizes(queue) == (1, 0, 0, 0)
    assert pop(queue)[0].pod.mod_revision == 2


def test_activation_ends_backoff_and_waiting(queue, clock):
    for name, plugins in (("backing", ()), ("stuck", (FIT,))):
        queue.add(pod(name))
        fail(queue, name, plugins)
    assert queue.activate(["default/backing", "default/stuck", "default/unknown"]) == 2
    assert sizes(queue) == (2, 0, 0, 0)


def test_activation_in_flight_is_remembered(queue):
    queue.add(pod("a"))
    (popped,) = pop(queue)
    assert queue.activate([popped.key]) == 0
    assert queue.requeue(popped, [FIT]) == "backoff"


# --- waiting


def test_pop_waits_for_a_pod(queue):
    queue = SchedulingQueue(clock=queue._clock)
    got = []
    waiter = threading.Thread(target=lambda: got.extend(queue.pop_batch(1, threading.Event(), 1e9)))
    waiter.start()
    queue.add(pod("a"))
    waiter.join(30)
    assert names(got) == ["a"]


@pytest.mark.parametrize("how", ["stop", "close"])
def test_pop_ends_when_stopped_or_closed(queue, how):
    stop = threading.Event()
    waiter = threading.Thread(target=lambda: queue.pop_batch(1, stop, 1e9))
    waiter.start()
    stop.set() if how == "stop" else queue.close()
    waiter.join(30)
    assert not waiter.is_alive()
    queue.add(pod("a"))
    assert queue.pop_batch(1, stop, 0) == []


# --- metrics


def test_it_counts_who_came_into_which_queue_and_why(queue, clock):
    queue.add(pod("a"))
    queue.add(pod("g", gates=("wait",)))
    fail(queue, "a")
    queue.move_all(NODE_ADD)
    clock.advance(1)
    pop(queue)
    counted = queue.incoming()
    assert counted == {
        ("active", "PodAdd"): 1,
        ("gated", "PodAdd"): 1,
        ("unschedulable", "ScheduleAttemptFailure"): 1,
        ("backoff", "NodeAdd"): 1,
        ("active", "BackoffComplete"): 1,
    }


def test_an_event_that_concerns_no_refusing_plugin_asks_no_hint_and_looks_at_no_pod(clock):
    asked = []
    hints = Hints.of([Registration(FIT, ANY_NODE, lambda *_: asked.append(1) or Hint.SKIP)])
    queue = SchedulingQueue(clock=clock, hints=hints)
    for number in range(100):
        queue.add(pod(f"pod-{number}"))
        fail(queue, f"pod-{number}")
    assert queue.move_all(ASSIGNED_POD_DELETE, check=asked.append) == 0
    assert asked == []
    queue.move_all(NODE_ADD)
    assert len(asked) == 100


# --- metrics


def test_refusals_are_counted_by_plugin_wherever_the_pod_waits(queue, clock):
    for name in ("a", "b", "c"):
        queue.add(pod(name))
    queue.add(pod("g", gates=("wait",)))
    for queued in pop(queue, 3):
        queue.requeue(queued, {"a": (FIT, AFFINITY), "b": (FIT,), "c": ()}[queued.pod.name])
    profile = "default-scheduler"
    told = {(FIT, profile): 2, (AFFINITY, profile): 1, ("SchedulingGates", profile): 1}
    assert queue.refusals() == told
    queue.move_all(NODE_ADD)
    assert queue.pending()["backoff"] == 3
    assert queue.refusals() == told, "until they are tried again"
    clock.advance(2)
    assert queue.pending()["active"] == 3
    assert queue.refusals() == told
    pop(queue, 3)
    assert queue.refusals() == {(FIT, profile): 0, (AFFINITY, profile): 0, ("SchedulingGates", profile): 1}


def test_events_in_flight_are_counted_by_their_names(queue):
    queue.add(pod("a"))
    pop(queue)
    queue.move_all(NODE_ADD)
    queue.move_all(NODE_ADD)
    queue.move_all(ASSIGNED_POD_DELETE)
    assert queue.happenings() == {"NodeAdd": 2, "AssignedPodDelete": 1}
    queue.done("default/a")
    assert queue.happenings() == {"NodeAdd": 0, "AssignedPodDelete": 0}, "a gauge that vanishes is no 0"


def test_a_pod_that_only_its_patience_brought_back_is_marked(queue, clock):
    queue.add(pod("a"))
    fail(queue, "a")
    clock.advance(301)
    (flushed,) = pop(queue)
    assert flushed.flushed
    queue.requeue(flushed, ("Fit",))
    queue.activate(["default/a"])
    (again,) = pop(queue)
    assert not again.flushed


def test_a_priority_class_that_comes_after_its_pods_counts_for_them(clock):
    values = {}
    queue = SchedulingQueue(
        clock=clock,
        gate=lambda pod: "SchedulingGates" if pod.spec.gates else "",
        priority=lambda pod: pod.spec.priority if pod.spec.priority is not None else values.get(pod.name, 0),
        hints=Hints.of([Registration(FIT, ANY_NODE)]),
    )
    for made in (pod("refused"), pod("flying")):
        queue.add(made)
    refused, flying = pop(queue, 2)
    for made in (pod("early"), pod("late"), pod("stated", priority=1)):
        queue.add(made)
    queue.requeue(refused, [FIT])
    values.update(refused=3, flying=4, late=5, stated=6)
    queue.weigh()
    assert sizes(queue)[1:3] == (1, 0)  # in backoff: it may have others make room now
    queue.requeue(flying)
    clock.advance(1.0)
    assert names(pop(queue, 9)) == ["late", "flying", "refused", "stated", "early"]


def test_of_a_group_that_is_kept_back_one_pod_is_asked(clock):
    asked, keeps = [], "Coscheduling"

    def gate(made):
        asked.append(made.name)
        return keeps

    queue = SchedulingQueue(clock=clock, gate=gate)
    group = [f"p{number}" for number in range(20)]
    for name in group:
        queue.add(pod(name))
    asked.clear()
    queue.reconsider([f"default/{name}" for name in group], "Coscheduling")
    assert asked == ["p0"]
    keeps = ""
    queue.reconsider([f"default/{name}" for name in group], "Coscheduling")
    assert names(pop(queue, 99)) == group
