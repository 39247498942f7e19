"""The replica's own histograms are those of the golden list, and tell what happened."""

from __future__ import annotations

import pytest

from component.metrics.histogram import histograms
from replica.api.kinds import NODE
from replica.binding import Fate, Verdict
from replica.cache.metrics import processing_latency
from replica.framework.cycle_state import CycleState
from replica.framework.metrics import FrameworkMetrics
from replica.framework.status import SUCCESS, unschedulable
from replica.scheduler_metrics import SchedulerMetrics
from replica.takeover import Takeover
from replica.timed import Timed, pod_subject, subject_of
from replica.write_metrics import BINDING, WriteMetrics
from tests.harness.clock import ManualClock
from tests.harness.framework import handle, runtime_of
from tests.harness.golden import golden
from tests.harness.objects import pod


@pytest.fixture
def clock():
    return ManualClock()


def counted(name):
    """Labels -> how many values a histogram of ours holds, and their sum."""
    found = next(each for each in histograms() if each.name == name)
    return {point.labels: (sum(point.counts), point.total) for point in found.points()}


class Change:
    """What a histogram has got since."""

    def __init__(self, name):
        self.name, self.before = name, counted(name)

    def seen(self):
        now = counted(self.name)
        changed = {labels: now[labels] for labels in now if now[labels] != self.before.get(labels)}
        return {
            labels: (count - self.before.get(labels, (0, 0))[0], total - self.before.get(labels, (0, 0.0))[1])
            for labels, (count, total) in changed.items()
        }


def test_own_histograms_have_the_names_labels_and_buckets_of_the_list(clock):
    FrameworkMetrics("default-scheduler", clock)
    SchedulerMetrics(sizes=dict, pending=dict, under_way=lambda: (0, 0))
    WriteMetrics()
    Takeover("job", "expiry", clock)
    Timed(object(), pod_subject, clock)
    processing_latency()
    listed = golden()
    for mine in histograms():
        name = f"{mine.name}_seconds" if mine.unit == "s" else mine.name
        if name.startswith(("scheduler_", "lockd_", "informer_")):
            assert (tuple(sorted(mine.labels)), mine.buckets) == (listed[name].labels, listed[name].buckets), name


def test_a_takeover_is_told_from_the_start_of_the_work_to_the_first_bind(clock):
    takeover = Takeover("job-a", "evidence", clock)
    change = Change("lockd_failover_duration")
    clock.advance(0.25)
    takeover.warm(waited_for=True)
    clock.advance(0.5)
    takeover.judged([Verdict(None, Fate.CONFLICT)])
    clock.advance(0.5)
    takeover.judged([Verdict(None, Fate.BOUND)])
    clock.advance(5)
    takeover.judged([Verdict(None, Fate.BOUND)])
    assert change.seen() == {
        ("job-a", "warm_up", "evidence"): (1, 0.25),
        ("job-a", "first_bind", "evidence"): (1, 1.0),
    }


def test_no_first_bind_is_told_that_nobody_waited_for(clock):
    takeover = Takeover("job-b", "release", clock)
    change = Change("lockd_failover_duration")
    takeover.warm(waited_for=False)
    clock.advance(3600)
    takeover.judged([Verdict(None, Fate.BOUND)])
    assert change.seen() == {("job-b", "warm_up", "release"): (1, 0.0)}


def test_the_first_term_of_a_lock_takes_nothing_over(clock):
    takeover = Takeover("job-c", "first", clock)
    change = Change("lockd_failover_duration")
    takeover.warm(waited_for=True)
    takeover.judged([Verdict(None, Fate.BOUND)])
    assert change.seen() == {}


def test_events_are_timed_by_what_they_are_about_even_if_the_handler_fails(clock):
    class Slow:
        def on_add(self, obj, *, initial):
            clock.advance(0.5)

        def on_update(self, old, new):
            clock.advance(0.25)

        def on_delete(self, obj, *, stale):
            raise RuntimeError("no")

    timed = Timed(Slow(), pod_subject, clock)
    change = Change("scheduler_event_handling_duration")
    timed.on_add(pod("a"), initial=True)
    timed.on_update(pod("a"), pod("a", node="n"))
    with pytest.raises(RuntimeError):
        timed.on_delete(pod("a"), stale=False)
    Timed(Slow(), subject_of(NODE), clock).on_add(object(), initial=False)
    assert change.seen() == {
        ("PodAdd",): (1, 0.5),
        ("AssignedPodUpdate",): (1, 0.25),
        ("PodDelete",): (1, 0.0),
        ("NodeAdd",): (1, 0.5),
    }


def test_each_pod_of_a_transaction_is_a_call():
    writes = WriteMetrics()
    change = Change("scheduler_async_api_call_execution_duration")
    writes.settled(BINDING, 0.5, done=3, failed=0)
    writes.settled(BINDING, 0.25, done=0, failed=2)
    assert change.seen() == {(BINDING, "success"): (3, 1.5), (BINDING, "error"): (2, 0.5)}


def test_what_waited_in_permit_is_told_by_its_outcome():
    runtime = runtime_of(with_handle=handle())
    change = Change("scheduler_permit_wait_duration")
    runtime.permit_waited(SUCCESS, 0.5)
    runtime.permit_waited(unschedulable("timed out"), 2.0)
    assert change.seen() == {("Success",): (1, 0.5), ("Unschedulable",): (1, 2.0)}


def test_every_point_that_a_placed_pod_comes_by_is_measured_in_sampled_cycles():
    runtime, ask = runtime_of(with_handle=handle()), pod("a")
    steps = {
        "Reserve": runtime.reserve,
        "Unreserve": runtime.unreserve,
        "Permit": runtime.permit,
        "PreBind": runtime.pre_bind,
        "Bind": runtime.bind,
        "PostBind": runtime.post_bind,
    }
    change = Change("scheduler_framework_extension_point_duration")
    for step in steps.values():
        step(CycleState(), ask, "n")
    assert change.seen() == {}
    for step in steps.values():
        step(CycleState(sampled=True), ask, "n")
    assert {labels: count for labels, (count, _) in change.seen().items()} == {
        (point, "Success", runtime.scheduler_name): 1 for point in steps
    }
