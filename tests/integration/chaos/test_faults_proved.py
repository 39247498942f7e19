"""A fault that has no effect is never taken for one that has, and one that stays is never taken for healed.

The faults are those of the registry: one that is added there is tested here.
"""

import signal

import pytest

from chaos.cluster.hosted import Continue
from chaos.errors import Interrupted
from chaos.faults import clocks, registry
from chaos.faults.errors import NotApplied, NotHealed
from chaos.faults.fault import Kind
from tests.harness.hurting import process
from tests.harness.immune import immune
from tests.harness.wait import eventually


@pytest.fixture
def scene(trio, prefix, tmp_path):
    with immune(trio, prefix, tmp_path) as made:
        yield made


def targets(scene, fault):
    """Whom a fault may be aimed at."""
    if Kind.REPLICA in fault.aims:
        return scene.cluster.replicas()
    return scene.cluster.etcd_members() if Kind.ETCD in fault.aims else ()


@pytest.mark.parametrize("name", sorted(registry.FAULTS))
def test_a_fault_without_an_effect_is_not_applied(scene, name):
    fault = registry.make(name)
    with pytest.raises(NotApplied, match=r"^[^\n]+$"):
        fault.apply(scene, targets(scene, fault))
    assert scene.guard.kept == []


@pytest.mark.parametrize("name", sorted(registry.FAULTS))
def test_whoever_is_asked_to_stop_gives_up_applying(scene, name):
    fault = registry.make(name)
    scene.stop.set()
    with pytest.raises((Interrupted, NotApplied)):
        fault.apply(scene, targets(scene, fault))
    assert scene.guard.kept == []


def test_a_process_that_stays_stopped_is_not_healed_and_stays_promised(scene):
    (target, *_) = scene.cluster.replicas()
    scene.cluster.pause = lambda target: process(target).send(signal.SIGSTOP)
    applied = registry.make("pause").apply(scene, [target])
    assert applied.proof == f"replica-1 (pid {target.pid}) is stopped"
    for _ in range(2):
        with pytest.raises(NotHealed, match=r"replica-1 \(pid \d+\) is still stopped"):
            applied.heal()
        assert scene.guard.kept == [Continue(target.pid, target.started)]
    scene.cluster.resume = lambda target: process(target).send(signal.SIGCONT)
    assert applied.heal() == "replica-1 goes on"
    assert scene.guard.kept == []


def test_one_that_can_not_be_stopped_has_those_before_it_go_on(scene):
    first, second = scene.cluster.replicas()
    scene.cluster.pause = lambda target: process(target).send(signal.SIGSTOP if target is first else signal.SIGCONT)
    scene.cluster.resume = lambda target: process(target).send(signal.SIGCONT)
    with pytest.raises(NotApplied, match=f"replica-2 .pid {second.pid}. goes on"):
        registry.make("pause").apply(scene, [first, second])
    eventually(lambda: process(first).state not in ("T", "t"), within=10.0)
    assert scene.guard.kept == []


def test_an_alarm_that_stays_is_not_healed(scene):
    indifferent, scene.gateway.caller = scene.gateway.caller, scene.gateway.caller._caller
    applied = registry.make("no-space").apply(scene, [])
    assert "a put was refused for want of space" in applied.proof
    scene.gateway.caller = indifferent
    with pytest.raises(NotHealed, match="still in force"):
        applied.heal()
    assert len(scene.guard.kept) == 1
    scene.gateway.caller = indifferent._caller
    assert "is disarmed" in applied.heal()
    assert scene.guard.kept == []


def test_what_had_ended_before_was_not_hurt(scene):
    (target, *_) = scene.cluster.replicas()
    process(target).send(signal.SIGKILL)
    eventually(lambda: not process(target).alive, within=10.0)
    scene.cluster.kill = lambda *targets: [process(each).send(signal.SIGKILL) for each in targets]
    with pytest.raises(NotApplied, match="had ended before"):
        registry.make("kill").apply(scene, [target])


def test_a_clock_that_stays_shifted_is_not_healed(scene, monkeypatch):
    (target, *_) = scene.cluster.replicas()
    shift = registry.make("shift-clock", {"by": "-1h"})
    ours = scene.clock.wall()
    monkeypatch.setattr(clocks, "_date", lambda _: ours - 3600.0)
    applied = shift.apply(scene, [target])
    assert applied.proof == "the clock of replica-1 is 3600 s behind ours"
    with pytest.raises(NotHealed, match="the clock of replica-1 is still shifted"):
        applied.heal()
    monkeypatch.setattr(clocks, "_date", lambda _: scene.clock.wall())
    assert applied.heal() == "the clock of replica-1 is that of ours"
