"""No bind takes a node beyond what it has."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from chaos.checks.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from chaos.ledger import Ledger, Write
    from chaos.objects import Stored
    from chaos.record import Record


@dataclass(frozen=True, slots=True)
class Overcommit:
    """A node that had less than its pods ask for, right after a bind.

    Attributes:
        bind: The bind, the first of its transaction on that node.
        resource: The first resource that didn't suffice, such as `cpu`.
        asked: In the resource's base unit (milli for cpu).
        allocatable: The same.
    """

    node: str
    bind: Write
    resource: str
    asked: int
    allocatable: int


class _Nodes:
    """What each node has and what stands on it."""

    def __init__(self) -> None:
        self.nodes: dict[str, Stored] = {}
        self.pods: dict[str, Stored] = {}
        self.used: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def apply(self, key: str, stored: Stored | None) -> None:
        kind, _, name = key.partition("/")
        if kind == "nodes":
            if stored is None:
                self.nodes.pop(name, None)
            else:
                self.nodes[name] = stored
        elif kind == "pods":
            old = self.pods.pop(key, None)
            if old is not None:
                self.used[old.node].subtract(old.requests)
            if stored is not None and stored.node and not stored.finished:
                self.pods[key] = stored
                self.used[stored.node].update(stored.requests)

    def excess(self, node: str, resources: Iterable[str]) -> tuple[str, int, int] | None:
        """The first of these of which more is asked than there is. A node that isn't there has no limit to exceed."""
        if node not in self.nodes:
            return None
        allocatable = self.nodes[node].allocatable
        for resource in sorted(resources):
            asked = self.used[node][resource]
            if asked > allocatable.get(resource, 0):
                return resource, asked, allocatable.get(resource, 0)
        return None


def overcommitted(ledger: Ledger) -> Iterator[Overcommit]:
    """Each bind, a leader's or a user's, that left its node with too little."""
    nodes = _Nodes()
    for key, stored in ledger.first.items():
        nodes.apply(key, stored)
    for _, group in groupby(ledger.writes, key=lambda write: write.revision):
        bound: defaultdict[str, list[Write]] = defaultdict(list)
        for write in group:
            nodes.apply(write.key, write.after)
            if _binds(write):
                bound[_node(write.after)].append(write)
        for node, binds in bound.items():
            # Of what a bind doesn't ask for, somebody else may have taken too much before.
            asked = {name for bind in binds if bind.after for name, amount in bind.after.requests.items() if amount}
            if (found := nodes.excess(node, asked)) is not None:
                yield Overcommit(node, binds[0], *found)


def _binds(write: Write) -> bool:
    return write.kind == "pods" and _node(write.after) not in ("", _node(write.before))


def _node(pod: Stored | None) -> str:
    return pod.node if pod is not None else ""


def overcommits(record: Record) -> Iterator[Violation]:
    """A leader's bind never leaves its node with less than the pods on it ask for. A user may do so, by hand."""
    ledger = record.ledger
    for found in overcommitted(ledger):
        bind = found.bind
        if bind.token == 0:
            continue
        standing = ledger.terms.standing(bind.revision)
        yield Violation(
            check="overcommit",
            revision=bind.revision,
            key=f"nodes/{found.node}",
            token=bind.token,
            term_token=standing.token if standing is not None else 0,
            message=f"{bind.key} was bound, then the pods ask for {found.asked} of {found.resource}, "
            f"of {found.allocatable}",
        )
