"""What a relational plugin says of all nodes, told by domains of one topology and by few rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from replica.framework.interface import Relational

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from replica.api.pods import Pod
    from replica.cache.domains import Domains
    from replica.cache.nodes import Nodes
    from replica.cache.tally import Tally

    Bar = tuple[Tally, int]
    """A row is refused if more than so much is counted there, in a domain of its own."""

    Apart = tuple[int, int]
    """A domain, and what is counted on a row of its own there."""


class Ranker(Protocol):
    """Scores nodes, those of one domain alike but for some rows."""

    @property
    def rows(self) -> Mapping[int, int]:
        """The rows that may score otherwise than their domains, with what is counted there: they may be infeasible."""
        ...

    def rank(self, members: Sequence[int], apart: Mapping[Apart, Sequence[int]]) -> tuple[Sequence[int], Sequence[int]]:
        """The scores.

        Args:
            members: By domain, how many nodes are feasible; some are.
            apart: Those of `rows` that are feasible.

        Returns:
            0 to HIGHEST_SCORE by domain, and for each of `apart`.
        """
        ...


class Outlook:
    """What is said of nodes.

    Attributes:
        domains: The topology by whose domains nodes are told apart; None: they aren't.
        allowed: By domain, nodes without one under 0: may its nodes take the pod? None: all may.
        bars: What else refuses rows.
        rank: Scores the nodes; None: all alike.
        lasting: The same is said of other pods of the same namespace, labels, owner and specification, however many
            come to nodes, until `Census.version` moves.
    """

    __slots__ = ("allowed", "bars", "domains", "lasting", "rank")

    def __init__(
        self,
        domains: Domains | None = None,
        *,
        allowed: Sequence[bool] | None = None,
        bars: tuple[Bar, ...] = (),
        rank: Ranker | None = None,
        lasting: bool = False,
    ) -> None:
        self.domains = domains
        self.lasting = lasting
        self.allowed = allowed
        self.bars = bars
        self.rank = rank

    def refuse(self, domains: Domains, allowed: Sequence[bool]) -> bool:
        """Some domains' nodes may not take it either; False if this is another topology than the one before."""
        if self.domains is not None and self.domains is not domains:
            return False
        self.domains = domains
        self.allowed = (
            allowed if self.allowed is None else [a and b for a, b in zip(self.allowed, allowed, strict=True)]
        )
        return True


NOTHING = Outlook(lasting=True)
"""It has nothing to say."""

NOTHING_NOW = Outlook()
"""It has nothing to say as things stand; that may change with each pod that comes to a node."""


class Told(NamedTuple):
    """What all of a profile's relational plugins say of the nodes together.

    Attributes:
        weight: Of who scores.
        lasting: Is all of it `Outlook.lasting`?
    """

    outlook: Outlook
    weight: int
    lasting: bool


@runtime_checkable
class Foresighted(Relational, Protocol):
    """A relational plugin that can, as a rule, say what it thinks of all nodes without a look at each."""

    def outlook(self, pod: Pod, nodes: Nodes) -> Outlook | None:
        """What PreFilter and Filter, PreScore, Score and NormalizeScore come to; None: it can't be told so."""
        ...
