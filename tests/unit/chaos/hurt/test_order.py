"""What a command line of `chaosctl hurt` asks for."""

import pytest

from chaos.faults.keys import ForeignHolder
from chaos.faults.loops import CrashLoop
from chaos.faults.network import Cut
from chaos.faults.processes import Kill, Pause
from chaos.hurt.order import BARE, order
from lockd.errors import ConfigError


def asked(role=None, *settings, lasts=None, **flags):
    return order(role, {name.replace("_", "-"): value for name, value in flags.items()}, settings, lasts)


def problems(role=None, *settings, **flags):
    with pytest.raises(ConfigError) as refused:
        asked(role, *settings, **flags)
    return refused.value.problems


def test_a_role_and_a_fault():
    made = asked("leader", kill=BARE, pause=None)
    assert (made.fault, str(made.role), made.lasts) == (Kill(), "leader", None)


def test_the_role_may_stand_behind_the_flag():
    made = asked(kill="standby[1]")
    assert (made.fault, str(made.role)) == (Kill(), "standby[1]")


def test_a_flag_takes_how_long_it_lasts():
    made = asked("leader", pause="20s")
    assert (made.fault, made.lasts) == (Pause(), 20.0)
    assert asked("leader", lasts=5.0, pause=BARE).lasts == 5.0


def test_a_flag_takes_the_leading_parameter_where_there_is_one():
    made = asked("leader", lasts=5.0, cut="presence")
    assert (made.fault, made.lasts) == (Cut(off="presence"), 5.0)
    assert asked(foreign_holder="me").fault == ForeignHolder(holder="me")


def test_how_long_it_lasts_is_said_once():
    with pytest.raises(ConfigError) as refused:
        asked("leader", lasts=1.0, pause="500ms")
    assert refused.value.problems == ("--pause 500ms and --for both say how long it lasts: leave one of the two out",)


def test_a_holder_may_be_as_long_as_an_identity():
    assert asked(foreign_holder="x" * 253).fault == ForeignHolder(holder="x" * 253)
    (problem,) = problems(foreign_holder="ä" * 127)
    assert problem == "foreign-holder: holder: has 254 bytes; an identity has 253 at most"


def test_further_parameters():
    assert asked("leader", "every=2s", "times=3", crash_loop=BARE).fault == CrashLoop(every=2.0, times=3)


@pytest.mark.parametrize(
    ("role", "settings", "flags", "told"),
    [
        (None, (), {}, "no fault is named: name one, such as --kill"),
        ("leader", (), {"kill": BARE, "pause": BARE}, "--kill and --pause are too many"),
        (None, (), {"kill": BARE}, "--kill: at whom?"),
        (None, (), {"kill": "7"}, "--kill: invalid duration '7'"),
        ("leader", (), {"compact": BARE}, "--compact is aimed at the whole cluster: leave 'leader' out"),
        ("leeder", (), {"kill": BARE}, "'leeder' is no role: did you mean leader"),
        ("etcd-1", (), {"crash-loop": BARE}, "--crash-loop can't be aimed at etcd-1 (etcd): only at lockd, replica"),
        ("leader", ("every",), {"crash-loop": BARE}, "--set every: write name=value"),
        (
            "leader",
            ("everyy=1s",),
            {"crash-loop": BARE},
            "crash-loop: no parameter is named 'everyy': did you mean every?",
        ),
        ("leader", (), {"pause": "ages"}, "--pause: invalid duration 'ages'"),
        ("leader", (), {"cut": "network"}, "cut: off: 'network' is none of etcd, presence, all"),
        ("leader", ("direction=to", "mode=refuse"), {"cut": BARE}, "cut: direction: goes with mode black-hole"),
        ("leader", (), {"shift-clock": "1s"}, "shift-clock: by: must be 5s at least, or -5s at most"),
    ],
)
def test_a_mistake_is_one_clear_line(role, settings, flags, told):
    assert problems(role, *settings, **flags)[0].startswith(told)


def test_every_mistake_is_told():
    assert len(problems("leader", "x=1", "y=2", compact="ages")) == 4
