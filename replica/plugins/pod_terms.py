"""Which pods a pod means by a selector, compiled once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replica.api.labels import NO_LABELS, Labels
from replica.api.selectors import LabelSelector, Requirement, SelectorError, compile_selector
from replica.cache.cohort import EVERY, in_namespace, with_label

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from replica.api.affinity import PodTerm
    from replica.api.selectors import LabelPredicate
    from replica.cache.cohort import Traits

    NamespaceLabels = Callable[[str], Mapping[str, str]]
    """A namespace's labels by its name."""


class Selected:
    """A selector of pods by their labels. One that means nothing, and none at all, select nobody.

    Args:
        labels: Of the pod that has the selector.
        match: Labels whose value must be that of the pod, as far as it has them.
        mismatch: Labels whose value must not be that of the pod.
    """

    __slots__ = ("_predicate", "_requirements")

    def __init__(
        self,
        selector: LabelSelector | None,
        labels: Labels = NO_LABELS,
        *,
        match: Sequence[str] = (),
        mismatch: Sequence[str] = (),
    ) -> None:
        self._requirements: tuple[Requirement, ...] = ()
        self._predicate: LabelPredicate | None = None
        if selector is None:
            return
        more = [Requirement(key, "In", (labels[key],)) for key in match if key in labels]
        more += [Requirement(key, "NotIn", (labels[key],)) for key in mismatch if key in labels]
        self._requirements = (*selector.requirements(), *more)
        try:
            self._predicate = compile_selector(LabelSelector(match_expressions=self._requirements))
        except SelectorError:
            self._predicate = None

    @property
    def keys(self) -> frozenset[str]:
        """The labels that it looks at."""
        return frozenset(each.key for each in self._requirements)

    def holds(self, labels: Mapping[str, str]) -> bool:
        return self._predicate is not None and self._predicate(labels)

    def scope(self, namespace: str) -> Hashable:
        """Where in the census those of a namespace are."""
        for each in self._requirements:
            if each.operator == "In" and len(each.values) == 1:
                return with_label(namespace, each.key, each.values[0])
        return in_namespace(namespace)


class Term:
    """A term of a pod's affinity or anti-affinity.

    Args:
        owner: The pod that has it.

    Attributes:
        key: Its topology key.
        keys: The labels that it looks at, of those it may mean and of the pod that has it.
    """

    __slots__ = ("_every", "_namespace_selector", "_namespaces", "_selected", "key", "keys")

    def __init__(self, term: PodTerm, owner: Traits) -> None:
        self.key = term.topology_key
        self._selected = Selected(
            term.label_selector, owner.labels, match=term.match_label_keys, mismatch=term.mismatch_label_keys
        )
        self.keys = self._selected.keys.union(term.match_label_keys, term.mismatch_label_keys)
        named, selector = term.namespaces, term.namespace_selector
        self._namespaces = frozenset(named if named or selector is not None else (owner.namespace,))
        self._namespace_selector = None if selector is None else Selected(selector)
        self._every = selector is not None and not selector.requirements()

    @property
    def by_namespace(self) -> bool:
        """Does whom it means depend on the labels of namespaces?"""
        return self._namespace_selector is not None and not self._every

    def matches(self, pod: Traits, labels_of: NamespaceLabels) -> bool:
        """Is this one of the pods it means?"""
        return self._in_reach(pod.namespace, labels_of) and self._selected.holds(pod.labels)

    def scopes(self, namespaces: Iterable[str], labels_of: NamespaceLabels) -> set[Hashable]:
        """Where in the census all are whom it means, each in one place.

        Args:
            namespaces: All that have pods.
        """
        if self._every:
            return {EVERY}
        found = set(self._namespaces)
        if self._namespace_selector is not None:
            found.update(name for name in namespaces if self._in_reach(name, labels_of))
        return {self._selected.scope(name) for name in found}

    def _in_reach(self, namespace: str, labels_of: NamespaceLabels) -> bool:
        if self._every or namespace in self._namespaces:
            return True
        return self._namespace_selector is not None and self._namespace_selector.holds(labels_of(namespace))


def scopes_of(terms: Sequence[Term], namespaces: Iterable[str], labels_of: NamespaceLabels) -> set[Hashable]:
    """Where in the census all are whom any of these terms mean, each in one place."""
    each = [term.scopes(namespaces, labels_of) for term in terms]
    if not each or all(scopes == each[0] for scopes in each):
        return each[0] if each else set()
    found = set().union(*each)
    return {EVERY} if EVERY in found else {in_namespace(scope[1]) for scope in found if isinstance(scope, tuple)}
