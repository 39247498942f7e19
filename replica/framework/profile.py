"""Which plugins run for pods of one `schedulerName`: what configuration says, resolved point by point."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from replica.framework import interface

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

DEFAULT_SCHEDULER = "default-scheduler"


class Point(Enum):
    """An extension point, by its name in configuration; `kinds` are what a plugin implements to take part."""

    PRE_ENQUEUE = "preEnqueue"
    QUEUE_SORT = "queueSort"
    PRE_FILTER = "preFilter"
    FILTER = "filter"
    POST_FILTER = "postFilter"
    PRE_SCORE = "preScore"
    SCORE = "score"
    RESERVE = "reserve"
    PERMIT = "permit"
    PRE_BIND = "preBind"
    BIND = "bind"
    POST_BIND = "postBind"

    @property
    def kinds(self) -> tuple[type, ...]:
        return _KINDS[self]

    def served_by(self, plugin: object) -> bool:
        """Does `plugin` implement this point?"""
        return isinstance(plugin, self.kinds)


_KINDS: dict[Point, tuple[type, ...]] = {
    Point.PRE_ENQUEUE: (interface.PreEnqueuePlugin,),
    Point.QUEUE_SORT: (interface.QueueSortPlugin,),
    Point.PRE_FILTER: (interface.PreFilterPlugin,),
    Point.FILTER: (interface.FilterPlugin, interface.NodeFilterPlugin),
    Point.POST_FILTER: (interface.PostFilterPlugin,),
    Point.PRE_SCORE: (interface.PreScorePlugin,),
    Point.SCORE: (interface.ScorePlugin, interface.NodeScorePlugin),
    Point.RESERVE: (interface.ReservePlugin,),
    Point.PERMIT: (interface.PermitPlugin,),
    Point.PRE_BIND: (interface.PreBindPlugin,),
    Point.BIND: (interface.BindPlugin,),
    Point.POST_BIND: (interface.PostBindPlugin,),
}


@dataclass(frozen=True, slots=True)
class Use:
    """A plugin enabled. `weight` 0 stands for 1, as in configuration."""

    name: str
    weight: int = 0


@dataclass(frozen=True, slots=True)
class PluginSet:
    """What configuration says of one extension point, or of `multiPoint`. `disabled` may hold `*`."""

    enabled: tuple[Use, ...] = ()
    disabled: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Profile:
    """One `schedulerName` and its plugins.

    Attributes:
        defaults: The plugins enabled where nothing is said, in order.
        multi_point: What the user says for all points at once.
        points: What the user says for single points.
        args: Plugin -> its arguments.
        percentage: How many of 100 nodes are looked for at least that can take a pod; 0 makes that fall with the number
            of nodes, None and 100 stand for all.
    """

    scheduler_name: str = DEFAULT_SCHEDULER
    defaults: tuple[Use, ...] = ()
    multi_point: PluginSet = field(default_factory=PluginSet)
    points: Mapping[Point, PluginSet] = field(default_factory=dict)
    args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    percentage: int | None = None

    def general(self) -> tuple[Use, ...]:
        """What is enabled wherever a plugin can serve: the defaults and `multiPoint`, in order."""
        return _merged(self.defaults, self.multi_point)

    def names(self) -> frozenset[str]:
        """Every plugin that any point may need."""
        return frozenset(
            use.name
            for use in (
                *self.general(),
                *(use for chosen in self.points.values() for use in chosen.enabled),
            )
        )

    def uses(self, point: Point, serves: Callable[[str], bool]) -> tuple[Use, ...]:
        """The plugins of one point, in the order in which they run.

        What is said of the point itself goes before `multiPoint`, and that before the defaults. First come plugins of
        both that the point names again, in its order, then the others of `multiPoint`, then the others of the point.

        Args:
            serves: Does the plugin of this name implement the point?
        """
        said = self.points.get(point, PluginSet())
        dropped = said.disabled
        general = [use for use in self.general() if serves(use.name) and use.name not in dropped and "*" not in dropped]
        again = {use.name for use in said.enabled}
        known = {use.name for use in general}
        return (
            *(use for use in said.enabled if use.name in known),
            *(use for use in general if use.name not in again),
            *(use for use in said.enabled if use.name not in known),
        )


def _merged(lower: Iterable[Use], upper: PluginSet) -> tuple[Use, ...]:
    """`lower` less what `upper` disables, reweighted where `upper` enables it again, then the rest of `upper`."""
    named = {use.name: use for use in upper.enabled}
    dropped = upper.disabled
    kept = [use for use in lower if use.name not in dropped and "*" not in dropped]
    names = {use.name for use in kept}
    return (
        *(named.get(use.name, use) for use in kept),
        *(use for use in upper.enabled if use.name not in names),
    )
