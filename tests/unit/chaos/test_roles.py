import pytest

from chaos.cluster.interface import Target
from chaos.roles import ROLES, Role, problem
from chaos.targets import Cast, NoTarget, resolve


def target(name):
    return Target(name, f"id-{name}", 1, 1, "")


R1, R2, R3 = (target(f"replica-{number}") for number in (1, 2, 3))
E1, E2, E3 = (target(f"etcd-{number}") for number in (1, 2, 3))
D1, D2 = target("lockd-1"), target("lockd-2")
L1, L2, L3 = (target(f"lockctl-{number}") for number in (1, 2, 3))
CAST = Cast(
    replicas=(R1, R2, R3),
    leader=R2,
    old_leader="id-replica-3",
    members=(E1, E2, E3),
    etcd_leader=E1,
    daemons=(D1, D2),
    contenders=(L1, L2, L3),
    holders=(L2,),
)


@pytest.mark.parametrize(
    ("role", "draw", "found"),
    [
        ("leader", 0.0, [R2]),
        ("old-leader", 0.0, [R3]),
        ("standby", 0.0, [R1]),
        ("standby", 0.99, [R3]),
        ("standby[1]", 0.0, [R3]),
        ("standbys", 0.0, [R1, R3]),
        ("random", 0.5, [R2]),
        ("random", 0.999, [R3]),
        ("all", 0.0, [R1, R2, R3]),
        ("replica-3", 0.0, [R3]),
        ("etcd", 0.0, [E1, E2, E3]),
        ("etcd-2", 0.0, [E2]),
        ("etcd-leader", 0.0, [E1]),
        ("etcd-follower", 0.9, [E3]),
        ("etcd-follower[0]", 0.9, [E2]),
        ("etcd-followers", 0.0, [E2, E3]),
        ("etcd-majority", 0.0, [E1, E2]),
        ("etcd-majority", 0.9, [E1, E3]),
        ("lockd", 0.9, [D2]),
        ("lockd[0]", 0.9, [D1]),
        ("lockd-2", 0.0, [D2]),
        ("lock-holder", 0.0, [L2]),
        ("lock-waiter", 0.9, [L3]),
    ],
)
def test_who_has_a_role(role, draw, found):
    assert list(resolve(Role.parse(role), CAST, draw)) == found
    assert str(Role.parse(role)) == role


@pytest.mark.parametrize(
    ("role", "cast"),
    [
        ("leader", Cast(replicas=(R1,))),
        ("standby", Cast(replicas=(R1,))),
        ("standby[2]", CAST),
        ("replica-4", CAST),
        ("old-leader", Cast(replicas=(R1,), leader=R1)),
        ("old-leader", Cast(replicas=(R1,), leader=R1, old_leader="id-of-one-that-is-gone")),
        ("etcd-follower", Cast(members=(E1,))),
        ("lockd", Cast()),
        ("lock-holder", Cast(contenders=(L1,))),
    ],
)
def test_a_role_that_nobody_has(role, cast):
    with pytest.raises(NoTarget, match=role.replace("[", r"\[")):
        resolve(Role.parse(role), cast, 0.0)


def test_every_role_that_is_told_is_one():
    assert [problem(role) for role in ROLES] == [None] * len(ROLES)
    assert Role.parse("etcd-leader").of_etcd
    assert not Role.parse("standby").of_etcd


@pytest.mark.parametrize(
    "role", ["leadr", "standby[]", "standby[x]", "leader[0]", "replica-0", "", "all-1", "leader\n"]
)
def test_what_is_no_role(role):
    assert problem(role).startswith(f"{role!r} is no role: ")


def test_a_slip_is_put_right():
    assert problem("leadr") == "'leadr' is no role: did you mean leader?"
