"""The fault and the role that words ask for."""

import pytest

from chaos.faults.network import Cut
from chaos.faults.processes import Kill
from chaos.pytest.injury import aim
from chaos.roles import Role
from lockd.errors import ConfigError


def problems(*words, **parameters):
    with pytest.raises(ConfigError) as refused:
        aim(*words, parameters)
    return refused.value.problems


def test_what_is_asked_for():
    assert aim("kill", "leader", {}) == (Kill(), Role.parse("leader"))
    assert aim("cut", "standby[1]", {"off": "all", "members": 1}) == (
        Cut(off="all", members=1),
        Role.parse("standby[1]"),
    )
    assert aim("quorum-loss", None, {"how": "kill"})[1] is None


def test_every_mistake_is_told_at_once():
    assert problems("cut", "leadr", off="moon", hard=1) == (
        "cut: off: 'moon' is none of etcd, presence, all",
        "cut: no parameter is named 'hard': it has off, mode, direction, members",
        "'leadr' is no role: did you mean leader?",
    )


@pytest.mark.parametrize(
    ("fault", "role", "told"),
    [
        ("kill", None, "kill: at whom? Name a role, such as leader or etcd-1 (etcd, lockd, replica)"),
        ("compact", "etcd-1", "compact is aimed at the whole cluster: leave 'etcd-1' out"),
        ("shift-clock", "etcd-1", "shift-clock can't be aimed at etcd-1: only at replica"),
        ("kill", "lock-holder", "kill can't be aimed at lock-holder: only at etcd, lockd, replica"),
        ("kill", "old-leader", "old-leader is for scenarios: name the process, as Target.name does"),
    ],
)
def test_roles_that_the_fault_does_not_take(fault, role, told):
    assert problems(fault, role) == (told,)
