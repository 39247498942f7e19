"""A trial on a stage where nothing is real: what is fired when, undone when, and told."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from chaos.cluster.interface import Target
from chaos.errors import Interrupted
from chaos.faults.errors import NotApplied, NotHealed
from chaos.runner import trial as module
from chaos.runner.schedule import Planned, TrialPlan
from chaos.runner.signals import Signals
from chaos.runner.steady import NotSteady
from chaos.runner.trial import Trial
from chaos.scenario import loading
from chaos.scenario.faults import Registered
from chaos.targets import Cast
from chaos.timing import Timing
from tests.harness.clock import ManualClock

LEADER = Target("replica-1", "A", 1, 1, "")
STANDBY = Target("replica-2", "B", 2, 2, "")
SCENARIO = loading.decode({"title": "t", "description": "d.", "method": [{"fault": "kill"}]}, Registered())


class Applied:
    def __init__(self, world, name, targets):
        self.world, self.name, self.targets = world, name, targets
        self.at = world.clock.now()
        self.wall = 0.0
        self.proof = f"{name} took effect"

    @property
    def over(self):
        return self.world.over(self)

    def heal(self):
        self.world.told.append((self.world.clock.now() - self.world.began, f"heal {self.name}"))
        if self.name in self.world.unhealable:
            raise NotHealed(f"{self.name} stays")
        return f"{self.name} is undone"


class World:
    """Custody and stage in one. Time passes when somebody waits."""

    def __init__(self):
        self.clock = ManualClock()
        self.began = self.clock.now()
        self.signals = Signals()
        self.told = []
        self.lines = []
        self.cast = Cast(replicas=(LEADER, STANDBY), leader=LEADER)
        self.unhealable = set()
        self.refused = set()
        self.steady_problem = None
        self.late = ()
        self.seen_after = 0.0
        self.reads = []
        self.takes = []
        self.stop = threading.Event()
        self.at = {}
        self.over = lambda _: True

    def apply(self, fault, targets):
        self.told.append((self.clock.now() - self.began, fault.name, *(each.name for each in targets)))
        if fault.name in self.refused:
            raise NotApplied("it had no effect")
        return Applied(self, fault.name, targets)

    def run(self, *method, drawn=(), rollbacks=()):
        def wait(clock, seconds):
            clock.advance(min(max(seconds, 0.01), 0.1))
            for moment in [moment for moment in self.at if clock.now() - self.began >= moment]:
                self.at.pop(moment)()

        def history(within):
            self.reads.append(len(self.told))
            self.clock.advance(min(self.seen_after, within))

        def steady(*_, **__):
            if self.steady_problem:
                raise NotSteady(self.steady_problem, ())

        self.signals.wait = wait
        stage = SimpleNamespace(
            clock=self.clock,
            signals=self.signals,
            timing=Timing(lease_duration=3.0, renew_deadline=2.0, retry_period=0.5),
            stop=self.stop,
            place=None,
            auditor=SimpleNamespace(history=history),
            cluster=None,
            cast=lambda _: self.cast,
            steady=SimpleNamespace(wait=steady),
            workload=SimpleNamespace(longest=lambda *_: None),
        )
        plan = TrialPlan(number=1, seed="s", method=method, drawn=drawn, rollbacks=rollbacks)
        return Trial(stage, SCENARIO, plan, tell=self.lines.append).run()


class AtOnce:
    """A group whose threads are over at once; those that apply a fault take as long as the world says."""

    failure = None

    def __init__(self, world):
        self.world = world

    def spawn(self, name, fn, *args):
        if name.startswith("apply") and self.world.takes:
            due = self.world.clock.now() - self.world.began + self.world.takes.pop()
            self.world.at[due] = lambda: fn(*args)
        else:
            fn(*args)

    def join(self, _):
        return self.world.late


@pytest.fixture
def world(monkeypatch):
    world = World()

    class Custody:
        def __init__(self, *_, random, **__):
            self.random = random

        def __enter__(self):
            return self

        def __exit__(self, *_):
            world.told.append("custody ends")

        def prepare(self):
            world.began = world.clock.now()

        def apply(self, fault, targets):
            return world.apply(fault, targets)

        def heal(self, applied):
            return applied.heal()

    monkeypatch.setattr(module, "Custody", Custody)
    monkeypatch.setattr(module, "Group", lambda *_, **__: AtOnce(world))
    return world


def planned(fault="kill", role="leader", trigger="next", **more):
    return Planned(fault=fault, role=role, draw=0.0, trigger=trigger, **more)


def near(moment):
    return pytest.approx(moment, abs=0.25)


def test_each_is_fired_in_its_turn_and_undone_in_its_time(world):
    outcome = world.run(
        planned("pause", "standby", "at", at=1.0, lasts=3.0),
        planned("kill", "leader", "at", at=2.0),
    )
    assert world.told == [
        (near(1.0), "pause", "replica-2"),
        (near(2.0), "kill", "replica-1"),
        (near(4.0), "heal pause"),
        (near(4.0), "heal kill"),
        "custody ends",
    ]
    assert [(deed.planned.fault, deed.proof, deed.healing) for deed in outcome.deeds] == [
        ("pause", "pause took effect", "pause is undone"),
        ("kill", "kill took effect", "kill is undone"),
    ]
    assert outcome.deeds[0].healed_at - outcome.deeds[0].at == near(3.0)
    assert (outcome.steady, outcome.problems, outcome.gap) == (True, (), None)
    assert world.lines[0] == "pause standby at 1 s: pause took effect"
    assert world.lines[-1] == "after kill leader at 2 s: kill is undone"


def test_an_event_is_waited_for(world):
    world.at = {1.5: lambda: world.signals.happened("leader-acquired")}
    world.run(planned(), planned(trigger="after", what="leader-acquired"))
    assert world.told[1] == (near(1.5), "kill", "replica-1")


def test_an_event_that_a_fault_brings_about_before_it_is_seen_to_have_taken_effect_counts(world):
    world.takes = [3.0]  # the other one takes no time
    world.at = {1.0: lambda: world.signals.happened("leader-acquired")}
    outcome = world.run(planned(), planned(trigger="after", what="leader-acquired"))
    assert outcome.problems == ()
    assert [entry[1] for entry in world.told[:2]] == ["kill", "kill"]


def test_an_event_from_before_it_was_fired_does_not(world):
    world.at = {1.0: lambda: world.signals.happened("leader-acquired")}
    outcome = world.run(planned(trigger="at", at=2.0), planned(trigger="after", what="leader-acquired"))
    assert outcome.problems == ("kill leader after leader-acquired: was not fired within 72 s",)


def test_all_that_happened_before_is_seen_before_anything_is_done(world):
    world.run(planned())
    assert world.reads == [0, len(world.told)]


def test_it_is_over_once_all_that_happened_was_seen(world):
    world.seen_after = 7.0
    outcome = world.run(planned("pause", "standby", lasts=1.0))
    assert outcome.ended - outcome.began == near(8.0)


def test_an_action_after_healed_waits_for_that(world):
    world.run(planned("pause", lasts=2.0), planned("kill", trigger="after", what="healed"))
    assert [entry[1] for entry in world.told[:3]] == ["pause", "heal pause", "kill"]


def test_a_role_that_nobody_has_is_waited_for(world):
    cast, world.cast = world.cast, Cast(replicas=(LEADER, STANDBY))
    world.at = {2.0: lambda: setattr(world, "cast", cast)}
    outcome = world.run(planned())
    assert world.told[0] == (near(2.0), "kill", "replica-1")
    assert outcome.problems == ()


def test_what_never_comes_is_given_up_and_told(world):
    outcome = world.run(planned(trigger="when", what="no-leader"), planned("pause", "standby", lasts=1.0))
    assert outcome.problems == ("kill leader when no-leader: was not fired within 72 s",)
    assert [deed.planned.fault for deed in outcome.deeds] == ["pause"]


def test_a_fault_without_effect_is_a_problem_unless_it_was_drawn(world):
    world.refused = {"kill"}
    outcome = world.run(planned(), drawn=(planned(trigger="at", at=1.0),))
    assert outcome.problems == ("kill leader: it had no effect",)
    assert outcome.left_out == ("kill leader at 1 s: it had no effect",)
    assert outcome.deeds == ()


def test_until_over(world):
    world.over = lambda applied: world.clock.now() - applied.at >= 5.0
    outcome = world.run(planned("rolling-restart", "all", until_over=True))
    assert world.told[1] == (near(5.0), "heal rolling-restart")
    assert outcome.problems == ()
    world.over = lambda _: False
    outcome = world.run(planned("rolling-restart", "all", until_over=True))
    assert outcome.problems == ("rolling-restart all: was not over in 72 s",)


def test_what_can_not_be_undone_is_told(world):
    world.unhealable = {"pause"}
    outcome = world.run(planned("pause", lasts=1.0))
    assert outcome.problems == ("pause leader: pause stays",)
    assert outcome.deeds[0].healed_at is None


def test_what_hangs_while_it_is_undone_ends_the_run(world):
    world.late = ("trial/heal-0",)
    with pytest.raises(NotHealed, match="trial/heal-0"):
        world.run(planned())
    assert world.told[-1] == "custody ends"


def test_rollbacks_come_last_and_all_is_undone_newest_first(world):
    world.run(planned("pause", "standby"), rollbacks=(planned("kill"),))
    assert [entry[1] for entry in world.told[:4]] == ["pause", "kill", "heal kill", "heal pause"]


def test_a_cluster_that_does_not_get_steady_again(world):
    world.steady_problem = "no steady state within 72 s: nobody leads"
    outcome = world.run(planned())
    assert not outcome.steady
    assert outcome.problems == ("no steady state within 72 s: nobody leads",)


def test_a_signal_ends_it_with_custody(world):
    world.at = {1.0: world.stop.set}
    with pytest.raises(Interrupted):
        world.run(planned("pause", lasts=10.0))
    assert world.told[-1] == "custody ends"


def test_a_fault_that_waits_for_its_effect_keeps_no_other_in_force(world):
    world.takes = [5.0, 0.1]
    world.run(planned("pause", lasts=1.0), planned("kill"))
    healed = next(
        moment for moment, what in (each[:2] for each in world.told if each[0] != "c") if what == "heal pause"
    )
    applied = next(each[0] for each in world.told if each[1] == "kill")
    assert 1.0 <= healed < 1.5
    assert applied >= 5.0


def test_what_a_fault_raises_on_its_thread_is_raised(world):
    world.takes = [0.5]
    world.refused = {"kill"}
    outcome = world.run(planned("kill"))
    assert outcome.problems == ("kill leader: it had no effect",)
