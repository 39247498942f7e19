from __future__ import annotations

import pytest

from replica.framework.status import Code
from replica.framework.waiting import WaitingPods
from tests.harness.objects import pod


@pytest.fixture
def outcomes():
    return []


@pytest.fixture
def waiting(outcomes):
    return WaitingPods(lambda held, status: outcomes.append((held.pod.uid, held.node_name, status.code, status.plugin)))


def test_a_pod_goes_on_when_every_plugin_has_allowed_it(waiting, outcomes):
    waiting.hold(pod(uid="u"), "a", {"A": 10.0, "B": 20.0})
    assert waiting.allow("u", "A")
    assert outcomes == []
    assert waiting.allow("u", "B")
    assert outcomes == [("u", "a", Code.SUCCESS, "")]
    assert not waiting.allow("u", "B")
    assert len(waiting) == 0


def test_any_plugin_may_reject_it_once(waiting, outcomes):
    waiting.hold(pod(uid="u"), "a", {"A": 10.0, "B": 20.0})
    assert waiting.reject("u", "Z", "no room for the gang")
    assert not waiting.reject("u", "A", "too late")
    assert outcomes == [("u", "a", Code.UNSCHEDULABLE, "Z")]


def test_the_first_plugin_whose_time_is_up_rejects_it(waiting, outcomes):
    waiting.hold(pod(uid="u"), "a", {"A": 10.0, "B": 20.0})
    waiting.hold(pod(uid="v"), "a", {"A": 30.0})
    assert waiting.expire(9.9) == 10.0
    assert outcomes == []
    assert waiting.expire(10.0) == 30.0
    assert outcomes == [("u", "a", Code.UNSCHEDULABLE, "A")]
    assert waiting.expire(31.0) is None
    assert [uid for uid, *_ in outcomes] == ["u", "v"]


def test_the_end_of_a_term_rejects_all(waiting, outcomes):
    for uid in "uvw":
        waiting.hold(pod(uid=uid), "a", {"A": 10.0})
    waiting.reject_all("over")
    assert [uid for uid, *_ in outcomes] == list("uvw")
    assert len(waiting) == 0
