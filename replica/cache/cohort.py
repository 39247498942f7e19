"""Pods on nodes that no rule about neighbours tells apart, and where to find them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from replica.api.labels import Labels
    from replica.api.pods import Pod
    from replica.api.podspec import PodSpec

EVERY: Final = ("every",)
"""The scope of all cohorts."""

TERMS: Final = ("terms",)
"""The scope of the cohorts whose pods say something about others: affinity or anti-affinity of any kind."""


class Traits(Protocol):
    """What rules about neighbours read of a pod: a pod has it, and so has a cohort."""

    @property
    def namespace(self) -> str: ...
    @property
    def labels(self) -> Labels: ...
    @property
    def owner(self) -> str: ...
    @property
    def deleting(self) -> bool: ...
    @property
    def spec(self) -> PodSpec: ...


class Counted(Protocol):
    """Who counts pods: `replica.cache.tally.Tally`."""

    def add(self, row: int, amount: int) -> None:
        """There is more, or less, on a row."""
        ...

    def lose(self, cohort: Cohort) -> None:
        """None of these is left."""
        ...


class Cohort:
    """Pods on nodes that no rule about neighbours tells apart.

    Attributes:
        spec: Of one of them; of all of them where it says something about other pods.
        rows: How many of them are on each row.
        tallies: Who counts them, and with which weight.
    """

    __slots__ = ("deleting", "labels", "namespace", "owner", "rows", "spec", "tallies")

    def __init__(self, pod: Pod) -> None:
        self.namespace = pod.namespace
        self.labels = pod.labels
        self.owner = pod.owner
        self.deleting = pod.deleting
        self.spec = pod.spec
        self.rows: dict[int, int] = {}
        self.tallies: list[tuple[Counted, int]] = []

    def scopes(self) -> Iterable[Hashable]:
        """Where it can be found."""
        yield EVERY
        yield in_namespace(self.namespace)
        yield from (with_label(self.namespace, key, value) for key, value in self.labels.items())
        if self.owner:
            yield owned(self.namespace, self.owner)
        if says_something(self.spec):
            yield TERMS


def in_namespace(namespace: str) -> Hashable:
    """The scope of a namespace's pods."""
    return "namespace", namespace


def with_label(namespace: str, key: str, value: str) -> Hashable:
    """The scope of a namespace's pods with a label."""
    return "label", namespace, key, value


def owned(namespace: str, owner: str) -> Hashable:
    """The scope of the pods that one owner controls."""
    return "owner", namespace, owner


def says_something(spec: PodSpec) -> bool:
    """Do pods of this specification have affinity or anti-affinity to pods?"""
    affinity = spec.affinity
    return affinity is not None and not (affinity.pod_affinity is None and affinity.pod_anti_affinity is None)
