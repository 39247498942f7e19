import pytest

from chaos.runner.schedule import Schedule
from chaos.scenario import loading
from chaos.scenario.faults import Registered
from chaos.timing import Timing

FAST, DEFAULTS = Timing(lease_duration=3.0, renew_deadline=2.0, retry_period=0.5), Timing()
METHOD = [
    {"fault": "kill", "target": "standby", "at": "1s..5s"},
    {"fault": "pause", "after": "leader-acquired", "nth": 2, "lasts": "1.5 lease", "delay": "0.5 lease"},
    {"fault": "kill", "when": "bind-in-flight"},
]
DRAWN = {"actions": 6, "within": "10s", "among": [{"fault": "kill"}, {"fault": "pause", "lasts": "1s"}]}


@pytest.fixture
def scenario():
    document = {"title": "t", "description": "d.", "method": METHOD, "drawn": DRAWN}
    return loading.decode(document, Registered())


def test_the_same_seed_decides_the_same(scenario):
    assert plans(scenario, seed=7) == plans(scenario, seed=7)
    assert plans(scenario, seed=7, trials=5)[:3] == plans(scenario, seed=7)


def test_another_seed_and_another_trial_decide_otherwise(scenario):
    found = [*plans(scenario, seed=7), *plans(scenario, seed=8)]
    assert len({str(plan.document()) for plan in found}) == len(found) == 6
    assert len({plan.seed for plan in found}) == 6


def test_what_is_decided(scenario):
    (plan, *_) = plans(scenario, seed=1)
    first, second, third = plan.method
    assert (first.fault, first.role, first.trigger) == ("kill", "standby", "at")
    assert 1.0 <= first.at <= 5.0
    assert 0.0 <= first.draw < 1.0
    assert (second.trigger, second.what, second.nth, second.role) == ("after", "leader-acquired", 2, "leader")
    assert (second.lasts, second.delay) == (4.5, 1.5)
    assert (third.trigger, third.what, third.nth, third.lasts) == ("when", "bind-in-flight", 1, None)
    assert third.told() == "kill leader when bind-in-flight"


def test_lengths_follow_the_lease(scenario):
    (plan,) = Schedule.of(scenario, seed=1, trials=1, timing=DEFAULTS).trials
    assert (plan.method[1].lasts, plan.method[1].delay) == (22.5, 7.5)


def test_what_is_drawn_is_in_order_and_in_time(scenario):
    drawn = [plan.drawn for plan in plans(scenario, seed=3, trials=20)]
    moments = [[each.at for each in actions] for actions in drawn]
    assert all(found == sorted(found) and len(found) == 6 and found[-1] <= 10.0 for found in moments)
    assert {each.fault for actions in drawn for each in actions} == {"kill", "pause"}


def plans(scenario, *, seed, trials=3):
    return list(Schedule.of(scenario, seed=seed, trials=trials, timing=FAST).trials)
