"""What tests want of their clusters."""

from pathlib import Path

import pytest

from chaos.cluster.plan import FAST
from chaos.faults.fault import Need
from chaos.pytest.settings import Shape
from lockd.errors import ConfigError

SERVICE = ("{python}", "-m", "shop", "{port}")


def test_by_default_it_is_what_chaosctl_makes():
    plan = Shape().plan(Path("/d"))
    assert (plan.members, plan.replicas, plan.flags, plan.prefix, plan.service) == (3, 3, FAST, "/lockd", ())
    assert str(Shape()) == "3 replicas on 3 etcd members"


def test_leases_as_in_production():
    assert Shape().timing.lease_duration == 3.0
    shape = Shape(defaults=True, flags=("--leader-elect-lease-duration=20s",))
    assert shape.timing.lease_duration == 20.0
    assert shape.plan(Path("/d")).flags == ("--leader-elect-lease-duration=20s",)


def test_a_service_is_told_the_timing_and_the_lock():
    plan = Shape(service=SERVICE, lock="shop/tills", prefix="/shop").plan(Path("/d"))
    assert (plan.service, plan.lock, plan.prefix, plan.timing) == (SERVICE, "shop/tills", "/shop", (3.0, 2.0, 0.5))
    assert Shape(service=SERVICE, defaults=True).plan(Path("/d")).timing == (15.0, 10.0, 2.0)


def test_a_mark_changes_some_of_it_and_lists_are_as_good_as_tuples():
    shape = Shape(members=1).changed({"replicas": 5, "links": True, "flags": ["-v=4"]})
    assert shape == Shape(members=1, replicas=5, links=True, flags=("-v=4",))
    assert shape.needs == {Need.LINKS}
    assert str(shape) == "5 replicas on 1 etcd member, links"


def test_every_mistake_of_a_mark_is_told_at_once():
    with pytest.raises(ConfigError) as refused:
        Shape().changed({"replica": 5, "links": 1, "members": True, "service": "x"})
    assert refused.value.problems == (
        "no cluster has 'replica': did you mean replicas?",
        "links: 1 is no True or False",
        "members: True is no whole number",
        "service: 'x' is no list of words",
    )


def test_every_mistake_of_a_shape_is_told_at_once():
    with pytest.raises(ConfigError) as refused:
        Shape(members=2, replicas=0, lock="x", prefix="x/", service=("a",), flags=("--leader-elect-renew-deadline=9s",))
    assert [problem.partition(":")[0] for problem in refused.value.problems] == [
        *("members", "replicas", "lock", "prefix", "flags", "service", "flags"),
    ]


def test_shapes_that_are_alike_are_one():
    assert len({Shape(), Shape(members=3), Shape(replicas=2)}) == 2
