"""Why no node can take a pod: counted per reason, and said as kube-scheduler says it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replica.cache.nodes import Flags

NO_NODES = "no nodes available to schedule pods"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the filters said of a pod that no node can take.

    Attributes:
        nodes: How many nodes there are.
        counts: Reason -> nodes it holds for. A node may count under several.
        plugins: Who refused: what may help the pod is asked of these.
        resolvable: bool[size], the nodes where preemption may help; None when it can help nowhere.
        pre_filter: The reason that holds for all nodes, when PreFilter gave one.
        post_filter: What preemption had to say.
    """

    nodes: int
    counts: Mapping[str, int] = field(default_factory=dict)
    plugins: frozenset[str] = frozenset()
    resolvable: Flags | None = None
    pre_filter: str = ""
    post_filter: str = ""

    @property
    def message(self) -> str:
        """One line, the same for the same situation: `0/5 nodes are available: 2 Insufficient cpu, ...`."""
        if not self.nodes:
            return NO_NODES
        text = f"0/{self.nodes} nodes are available:"
        if self.pre_filter:
            text += f" {self.pre_filter}."
        elif self.counts:
            # As strings, the way kube-scheduler sorts them: "10 x" comes before "2 y".
            text += f" {', '.join(sorted(f'{count} {reason}' for reason, count in self.counts.items()))}."
        return f"{text} {self.post_filter}" if self.post_filter else text

    def after(self, post_filter: str) -> Diagnosis:
        """With what PostFilter said."""
        return replace(self, post_filter=post_filter)
