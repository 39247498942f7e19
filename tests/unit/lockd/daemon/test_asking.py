"""Requests as values, and every problem of one that can't be right."""

from __future__ import annotations

import pytest
from google.protobuf.duration_pb2 import Duration

from lockd.daemon.asking import enter_config, given, lock_name, resume_config
from lockd.daemon.refusals import Refusal
from lockd.ports import LockName
from lockd.v1 import lock_pb2 as pb


def duration(seconds):
    made = Duration()
    made.FromNanoseconds(round(seconds * 1e9))
    return made


def enter(name="job", **fields):
    made = {key: duration(value) if isinstance(value, float) else value for key, value in fields.items()}
    return pb.Enter(lock=pb.Lock(name=name), **made)


def problems(request):
    with pytest.raises(Refusal) as refused:
        enter_config("/lockd", request)
    assert refused.value.code.name == "INVALID_ARGUMENT"
    return refused.value.details


def test_what_is_not_said_follows_from_the_documents():
    lock, config, wait = enter_config("/lockd", enter())
    assert lock == LockName("/lockd", "kube-system", "job")
    assert (config.lease_duration, config.renew_deadline, config.retry_period) == (15.0, 10.0, 2.0)
    assert (config.fenced, wait) == (False, None)
    assert config.identity.startswith("client_")
    assert enter_config("/lockd", enter())[1].identity != config.identity


def test_deadline_and_period_follow_from_the_lease():
    _, config, _ = enter_config("/lockd", enter(lease_duration=3.0))
    assert (config.renew_deadline, config.retry_period) == (pytest.approx(2.0), pytest.approx(0.4))


def test_each_may_be_asked_for():
    _, config, wait = enter_config(
        "/lockd", enter(identity="me", lease_duration=9.0, renew_deadline=5.0, retry_period=1.0, wait=2.0)
    )
    assert (config.identity, config.lease_duration, config.renew_deadline, config.retry_period) == ("me", 9.0, 5.0, 1.0)
    assert wait == 2.0


@pytest.mark.parametrize("lease", [0.0, 0.99, 3600.1, 1e9, -5.0])
def test_a_lease_has_bounds(lease):
    assert "lease_duration must be from 1s to 1h" in problems(enter(lease_duration=lease))


@pytest.mark.parametrize(
    ("lease", "retry", "least"),
    [(1.0, 1e-9, "50ms"), (3.0, 0.0499, "50ms"), (30.0, 0.2999, "300ms"), (3600.0, 35.0, "36s")],
)
def test_a_retry_period_has_a_lower_bound(lease, retry, least):
    assert f"retry_period must be at least {least} with" in problems(enter(lease_duration=lease, retry_period=retry))


@pytest.mark.parametrize(("lease", "retry"), [(1.0, 0.05), (7.0, 0.07), (123.0, 1.23), (3.0, 0.4)])
def test_a_retry_period_may_be_a_hundredth_of_the_lease(lease, retry):
    assert enter_config("/lockd", enter(lease_duration=lease, retry_period=retry))[1].retry_period == retry


@pytest.mark.parametrize(("whole", "nanos"), [(1, -1), (-1, 1), (15, 10**9), (0, -(10**9)), (15, 2**31 - 1)])
@pytest.mark.parametrize("field", ["lease_duration", "renew_deadline", "retry_period", "wait"])
def test_an_ill_formed_duration_is_refused(field, whole, nanos):
    bad = Duration(seconds=whole, nanos=nanos)
    text = problems(pb.Enter(lock=pb.Lock(name="job"), **{field: bad}))
    assert text == f"{field} must have nanos below 1e9, of the same sign as seconds"


def test_a_resume_s_durations_are_well_formed_too():
    bad = Duration(nanos=-(10**9))
    with pytest.raises(Refusal, match=r"renew_deadline must .*; retry_period must "):
        given(pb.Resume(renew_deadline=bad, retry_period=bad), "renew_deadline", "retry_period")
    with pytest.raises(Refusal, match="retry_period must be at least 90ms"):
        resume_config(LockName("/lockd", "ns", "job"), "me", 9.0, {"retry_period": 0.08})


def test_names_are_the_api_s_own():
    text = problems(enter("a/b", identity="x/y", lease_duration=0.5, wait=-1.0))
    assert [word for word in ("lock.name", "identity", "lease_duration", "wait") if word not in text] == []
    text = problems(enter(renew_deadline=20.0, retry_period=-1.0))
    assert "retry_period must be a positive number" in text
    assert "lease_duration (15s) must exceed renew_deadline (20s)" in problems(enter(renew_deadline=20.0))
    assert "renew_deadline (10s) must exceed 1.2 x retry_period (9s)" in problems(enter(retry_period=9.0))


@pytest.mark.parametrize("name", ["", "a/b", "x" * 10_000, "a\nb", "\x00"])
def test_a_lock_s_name_is_a_part_of_keys(name):
    with pytest.raises(Refusal, match=r"lock\.name"):
        lock_name("/lockd", pb.Lock(name=name))


def test_a_term_goes_on_with_its_own_lease():
    lock = LockName("/lockd", "ns", "job")
    config = resume_config(lock, "me", 9.0, {})
    assert (config.lease_duration, config.renew_deadline, config.fenced) == (9.0, pytest.approx(6.0), False)
    with pytest.raises(Refusal, match="lease_duration"):
        resume_config(lock, "me", 9.0, {"renew_deadline": 9.0})
