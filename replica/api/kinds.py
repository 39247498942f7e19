"""The kinds of object there are, and the words people use for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object.

    Attributes:
        kind: As in a manifest, such as `PriorityClass`.
        plural: As in a key and on the command line, such as `priorityclasses`.
        group: The API group, "" for the core.
        versions: The `apiVersion` values accepted; the first is the usual one.
        namespaced: Does a name belong to a namespace?
        short: Further words for it on the command line.
    """

    kind: str
    plural: str
    group: str
    versions: tuple[str, ...]
    namespaced: bool
    short: tuple[str, ...] = ()

    @property
    def singular(self) -> str:
        return self.kind.lower()

    @property
    def qualified(self) -> str:
        """The singular with its group, as kubectl prints it: `pod`, `priorityclass.scheduling.k8s.io`."""
        return f"{self.singular}.{self.group}" if self.group else self.singular

    @property
    def qualified_plural(self) -> str:
        """The plural with its group, as in kubectl's NotFound."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


POD: Final = Kind("Pod", "pods", "", ("v1",), namespaced=True, short=("po",))
NODE: Final = Kind("Node", "nodes", "", ("v1",), namespaced=False, short=("no",))
NAMESPACE: Final = Kind("Namespace", "namespaces", "", ("v1",), namespaced=False, short=("ns",))
EVENT: Final = Kind("Event", "events", "events.k8s.io", ("events.k8s.io/v1", "v1"), namespaced=True, short=("ev",))
PRIORITY_CLASS: Final = Kind(
    "PriorityClass",
    "priorityclasses",
    "scheduling.k8s.io",
    ("scheduling.k8s.io/v1",),
    namespaced=False,
    short=("pc",),
)
POD_GROUP: Final = Kind(
    "PodGroup",
    "podgroups",
    "scheduling.x-k8s.io",
    ("scheduling.x-k8s.io/v1alpha1",),
    namespaced=True,
    short=("pg",),
)
DISRUPTION_BUDGET: Final = Kind(
    "PodDisruptionBudget", "poddisruptionbudgets", "policy", ("policy/v1",), namespaced=True, short=("pdb",)
)

KINDS: Final = (NAMESPACE, PRIORITY_CLASS, NODE, POD_GROUP, DISRUPTION_BUDGET, POD, EVENT)
"""Every kind, each before those that refer to it."""

_BY_NAME: Final = {kind.kind: kind for kind in KINDS}
_BY_WORD: Final = {
    word: kind
    for kind in KINDS
    for word in (kind.plural, kind.singular, kind.qualified, kind.qualified_plural, *kind.short)
}


def kind_named(name: str) -> Kind | None:
    """The kind a manifest names, or None."""
    return _BY_NAME.get(name)


def kind_for(word: str) -> Kind | None:
    """The kind a person means by `pods`, `po` or `Pod`, or None."""
    return _BY_WORD.get(word.lower())


def kind_of_plural(plural: str) -> Kind | None:
    """The kind whose keys stand under `plural`, or None for keys of other things (leases, terms ...)."""
    found = _BY_WORD.get(plural)
    return found if found is not None and found.plural == plural else None
