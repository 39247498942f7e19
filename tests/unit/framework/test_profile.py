from __future__ import annotations

import pytest

from replica.framework.profile import PluginSet, Point, Profile, Use

DEFAULTS = (Use("A"), Use("B", 2), Use("C"))


def order(*, multi=PluginSet(), point=PluginSet(), serves="ABCDE", defaults=DEFAULTS):  # noqa: B008  # frozen
    profile = Profile(defaults=defaults, multi_point=multi, points={Point.SCORE: point})
    return [(use.name, use.weight) for use in profile.uses(Point.SCORE, lambda name: name in serves)]


@pytest.mark.parametrize(
    ("multi", "point", "want"),
    [
        # Nothing said: the defaults.
        ({}, {}, [("A", 0), ("B", 2), ("C", 0)]),
        # A default enabled again is reweighted where it stands; others come after.
        ({"enabled": (Use("D"), Use("B", 9))}, {}, [("A", 0), ("B", 9), ("C", 0), ("D", 0)]),
        ({"disabled": frozenset("B")}, {}, [("A", 0), ("C", 0)]),
        ({"disabled": frozenset("*")}, {}, []),
        # Enabled beats disabled.
        ({"disabled": frozenset("*"), "enabled": (Use("B", 3),)}, {}, [("B", 3)]),
        ({"disabled": frozenset("A"), "enabled": (Use("A", 7),)}, {}, [("B", 2), ("C", 0), ("A", 7)]),
        # The point's own list wins over the general one, and its plugins go first if they are in both.
        ({}, {"enabled": (Use("C", 5),)}, [("C", 5), ("A", 0), ("B", 2)]),
        ({}, {"enabled": (Use("E", 1), Use("C", 5))}, [("C", 5), ("A", 0), ("B", 2), ("E", 1)]),
        ({}, {"disabled": frozenset("*")}, []),
        ({}, {"disabled": frozenset("*"), "enabled": (Use("A", 4),)}, [("A", 4)]),
        ({"enabled": (Use("D"),)}, {"disabled": frozenset("AB")}, [("C", 0), ("D", 0)]),
    ],
)
def test_which_plugins_run_and_in_which_order(multi, point, want):
    assert order(multi=PluginSet(**multi), point=PluginSet(**point)) == want


def test_a_general_plugin_that_does_not_serve_the_point_is_left_out():
    assert order(serves="AC") == [("A", 0), ("C", 0)]


def test_names_are_all_that_may_be_needed():
    profile = Profile(
        defaults=DEFAULTS,
        multi_point=PluginSet((Use("D"),), frozenset("A")),
        points={Point.SCORE: PluginSet((Use("E"),))},
    )
    assert profile.names() == frozenset("BCDE")
