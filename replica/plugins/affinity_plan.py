"""What pods say about each other, compiled, with the tallies of whom it concerns."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from replica.cache.cohort import TERMS
from replica.cache.tally import Tallies
from replica.plugins.pod_terms import Term, scopes_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from replica.api.affinity import PodAffinity
    from replica.api.labels import Labels
    from replica.api.podspec import PodSpec
    from replica.cache.census import Census
    from replica.cache.cohort import Cohort, Traits
    from replica.cache.tally import Tally
    from replica.plugins.pod_terms import NamespaceLabels

KEPT = 4096


class Terms:
    """All that a pod says about other pods.

    Attributes:
        affinity: Required.
        anti_affinity: Required.
        preferred: Weight and term; the weight is below 0 for anti-affinity.
        by_namespace: Does whom they mean depend on the labels of namespaces?
        keys: The labels that they look at.
    """

    __slots__ = ("affinity", "anti_affinity", "by_namespace", "keys", "preferred")

    def __init__(self, pod: Traits) -> None:
        given = pod.spec.affinity
        near = given.pod_affinity if given is not None else None
        away = given.pod_anti_affinity if given is not None else None
        self.affinity = tuple(Term(each, pod) for each in near.required) if near is not None else ()
        self.anti_affinity = tuple(Term(each, pod) for each in away.required) if away is not None else ()
        self.preferred = (
            *((each.weight, Term(each.pod_affinity_term, pod)) for each in (near.preferred if near else ())),
            *((-each.weight, Term(each.pod_affinity_term, pod)) for each in (away.preferred if away else ())),
        )
        every = (*self.affinity, *self.anti_affinity, *(term for _, term in self.preferred))
        self.keys: frozenset[str] = frozenset().union(*(term.keys for term in every))
        self.by_namespace = any(term.by_namespace for term in every)

    def __bool__(self) -> bool:
        return bool(self.affinity or self.anti_affinity or self.preferred)

    def accepts(self, pod: Traits, labels_of: NamespaceLabels) -> bool:
        """Is this a pod that all required affinity means? Yes, if there is none."""
        return all(term.matches(pod, labels_of) for term in self.affinity)

    def shuns(self, pod: Traits, labels_of: NamespaceLabels) -> Counter[str]:
        """Topology key -> how many terms of required anti-affinity mean this pod."""
        return Counter(term.key for term in self.anti_affinity if term.matches(pod, labels_of))

    def likes(self, pod: Traits, labels_of: NamespaceLabels, *, hard: int = 0) -> Counter[str]:
        """Topology key -> the sum of the weights of preferred terms that mean this pod.

        Args:
            hard: What a term of required affinity weighs.
        """
        found: Counter[str] = Counter()
        for weight, term in self.preferred:
            if term.matches(pod, labels_of):
                found[term.key] += weight
        if hard:
            for term in self.affinity:
                if term.matches(pod, labels_of):
                    found[term.key] += hard
        return found


def terms_of(pod: Traits) -> Terms:
    """What a pod says. Pods that say the same have the same object, as a rule."""
    return _terms(pod.namespace, pod.labels, pod.spec)


class _Owner:
    """As much of a pod as terms are made of."""

    owner = ""
    deleting = False

    def __init__(self, namespace: str, labels: Labels, spec: PodSpec) -> None:
        self.namespace, self.labels, self.spec = namespace, labels, spec


@lru_cache(maxsize=KEPT)
def saying(spec: PodSpec) -> object:
    """The same object for all specifications that say the same of other pods."""
    affinity = spec.affinity
    return None if affinity is None else _saying(affinity.pod_affinity, affinity.pod_anti_affinity)


@lru_cache(maxsize=KEPT)
def _saying(_near: PodAffinity | None, _away: PodAffinity | None) -> object:
    return object()


@lru_cache(maxsize=KEPT)
def _terms(namespace: str, labels: Labels, spec: PodSpec) -> Terms:
    return Terms(_Owner(namespace, labels, spec))


class KeyWatch:
    """A plan that counts nothing: it keeps in mind which labels are looked at by what placed pods say of others.

    Attributes:
        keys: Those that were so far.
    """

    def __init__(self) -> None:
        self.keys: frozenset[str] = frozenset()

    def consider(self, cohort: Cohort) -> None:
        keys = terms_of(cohort).keys
        if not keys <= self.keys:
            self.keys |= keys

    def counters(self) -> Iterable[tuple[Hashable, KeyWatch]]:
        return ((TERMS, self),)

    def tallies(self) -> Iterable[Tally]:
        return ()


class AffinityPlan:
    """Who is near whom, as pods see it that are alike in what they say and in what is said of them.

    Args:
        hard: What the required affinity of a placed pod weighs.

    Attributes:
        terms: What they say.
        wanted: Pods that all their required affinity means, by each of its topology keys.
        shunned: Pods that their required anti-affinity means.
        shunning: Pods whose required anti-affinity means them.
        liked: Weights of the pods that their preferred terms mean.
        liking: Weights of the pods whose preferred terms, or required affinity, mean them.
        own: Does their required affinity mean themselves?
    """

    __slots__ = ("_scopes", "liked", "liking", "own", "shunned", "shunning", "terms", "wanted")

    def __init__(self, census: Census, pod: Traits, labels_of: NamespaceLabels, *, hard: int) -> None:
        terms = self.terms = terms_of(pod)
        keys = frozenset(term.key for term in terms.affinity)

        def wanted(other: Traits) -> Mapping[str, int]:
            return dict.fromkeys(keys, 1) if terms.accepts(other, labels_of) else {}

        self.wanted = Tallies(census.domains, wanted)
        self.shunned = Tallies(census.domains, lambda other: terms.shuns(other, labels_of))
        self.liked = Tallies(census.domains, lambda other: terms.likes(other, labels_of))
        self.shunning = Tallies(census.domains, lambda other: terms_of(other).shuns(pod, labels_of))
        self.liking = Tallies(census.domains, lambda other: terms_of(other).likes(pod, labels_of, hard=hard))
        self.own = bool(terms.affinity) and terms.accepts(pod, labels_of)
        for key in keys:
            self.wanted.of(key)
        names = tuple(census.namespaces())
        preferred = tuple(term for _, term in terms.preferred)
        self._scopes: tuple[tuple[Hashable, Tallies], ...] = (
            *((scope, self.wanted) for scope in scopes_of(terms.affinity[:1], names, labels_of)),
            *((scope, self.shunned) for scope in scopes_of(terms.anti_affinity, names, labels_of)),
            *((scope, self.liked) for scope in scopes_of(preferred, names, labels_of)),
            (TERMS, self.shunning),
            (TERMS, self.liking),
        )

    @property
    def refuses(self) -> bool:
        """May it refuse a node?"""
        return bool(self.terms.affinity or self.terms.anti_affinity or self.shunning.anything)

    def counters(self) -> Iterable[tuple[Hashable, Tallies]]:
        return self._scopes

    def tallies(self) -> Iterable[Tally]:
        for each in (self.wanted, self.shunned, self.liked, self.shunning, self.liking):
            yield from each.by_key.values()


def reach_of(terms: Terms, names: Iterable[str], labels_of: Callable[[str], Labels]) -> tuple[tuple[str, Labels], ...]:
    """What of the namespaces' labels decides whom these terms mean; nothing, as a rule."""
    return tuple((name, labels_of(name)) for name in sorted(names)) if terms.by_namespace else ()
