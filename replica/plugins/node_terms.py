"""What a pod asks of its nodes' labels and names, compiled once: for columns, and for single nodes."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from replica.api.selectors import (
    NAME_FIELD,
    NodeSelectorTerm,
    Requirement,
    SelectorError,
    compile_term,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from replica.api.affinity import NodeAffinity
    from replica.api.nodes import Node
    from replica.api.podspec import PodSpec
    from replica.api.selectors import NodePredicate
    from replica.cache.nodes import Amounts, Flags, Nodes

KEPT: Final = 4096


class Term:
    """Expressions of which all must hold; an empty term, and one that means nothing, holds for no node."""

    __slots__ = ("_predicate", "_term")

    def __init__(self, term: NodeSelectorTerm) -> None:
        self._term = term
        self._predicate: NodePredicate | None = None
        if term.match_expressions or term.match_fields:
            try:
                self._predicate = compile_term(term)
            except SelectorError:
                self._predicate = None

    @property
    def empty(self) -> bool:
        return not self._term.match_expressions and not self._term.match_fields

    def holds(self, node: Node) -> bool:
        return self._predicate is not None and self._predicate(node.labels, node.name)

    def flags(self, nodes: Nodes) -> Flags | None:
        """bool[size]; None where it holds for no node at all."""
        if self._predicate is None:
            return None
        found: Flags | None = None
        for requirement in self._term.match_fields:
            named = nodes.named(requirement.values)
            found = _both(found, named if requirement.operator == "In" else ~named)
        for requirement in self._term.match_expressions:
            found = _both(found, nodes.labelled(requirement))
        return found

    def names(self) -> frozenset[str] | None:
        """The nodes that it is limited to by name; None for all."""
        found: frozenset[str] | None = None
        for requirement in self._term.match_fields:
            if requirement.key == NAME_FIELD and requirement.operator == "In":
                values = frozenset(requirement.values)
                found = values if found is None else found & values
        return found


class Required:
    """Terms of which one must hold, and labels that all must be there."""

    __slots__ = ("_labels", "_terms")

    def __init__(self, labels: Iterable[tuple[str, str]], affinity: NodeAffinity | None) -> None:
        selector = tuple(Requirement(key, "In", (value,)) for key, value in labels)
        self._labels = Term(NodeSelectorTerm(match_expressions=selector)) if selector else None
        required = None if affinity is None else affinity.required
        self._terms = None if required is None else tuple(map(Term, required.node_selector_terms))

    @property
    def anything(self) -> bool:
        """Is nothing required?"""
        return self._labels is None and self._terms is None

    def holds(self, node: Node) -> bool:
        if self._labels is not None and not self._labels.holds(node):
            return False
        return self._terms is None or any(term.holds(node) for term in self._terms)

    def flags(self, nodes: Nodes) -> Flags:
        """bool[size]. Rows that aren't valid don't matter."""
        found = None if self._labels is None else self._labels.flags(nodes)
        if self._terms is not None:
            among: Flags | None = None
            for term in self._terms:
                if (flags := term.flags(nodes)) is not None:
                    among = flags if among is None else among | flags
            found = _both(found, np.zeros(nodes.size, np.bool_) if among is None else among)
        return np.ones(nodes.size, np.bool_) if found is None else found

    def names(self) -> frozenset[str] | None:
        """The nodes that it is limited to by name; None for all."""
        found: frozenset[str] = frozenset()
        if not self._terms:
            return None
        for term in self._terms:
            names = term.names()
            if names is None:
                return None
            found |= names
        return found


class Preferred:
    """Weighted terms; what a node gets is the sum of the weights of those that hold for it."""

    __slots__ = ("_terms",)

    def __init__(self, affinity: NodeAffinity | None) -> None:
        given = () if affinity is None else affinity.preferred
        self._terms = tuple((each.weight, Term(each.preference)) for each in given if each.weight)

    def __bool__(self) -> bool:
        return bool(self._terms)

    def weigh(self, node: Node) -> int:
        return sum(weight for weight, term in self._terms if term.holds(node))

    def weights(self, nodes: Nodes) -> Amounts | None:
        """int64[size]; None where no term holds for any node."""
        total: Amounts | None = None
        for weight, term in self._terms:
            if (flags := term.flags(nodes)) is not None:
                total = flags * np.int64(weight) if total is None else total + flags * np.int64(weight)
        return total


class Wish:
    """All that a pod asks of nodes. Pods that ask for the same have the same object, as a rule."""

    __slots__ = ("preferred", "required")

    def __init__(self, labels: tuple[tuple[str, str], ...], affinity: NodeAffinity | None) -> None:
        self.required = Required(labels, affinity)
        self.preferred = Preferred(affinity)


@lru_cache(maxsize=KEPT)
def wish_of(spec: PodSpec) -> Wish:
    """What pods of this specification ask for."""
    return _wish(spec.node_selector, None if spec.affinity is None else spec.affinity.node_affinity)


@lru_cache(maxsize=KEPT)
def _wish(labels: tuple[tuple[str, str], ...], affinity: NodeAffinity | None) -> Wish:
    return Wish(labels, affinity)


def _both(one: Flags | None, other: Flags) -> Flags:
    return other if one is None else one & other
