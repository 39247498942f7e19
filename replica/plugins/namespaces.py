"""The labels of namespaces, as selectors of namespaces see them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from replica.api.labels import NO_LABELS, Labels

if TYPE_CHECKING:
    from replica.api.groups import Namespace

NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""The label that every namespace has: its name."""


class NamespaceLabels:
    """A namespace's labels by its name.

    Args:
        lister: Of namespaces; None: none is known.
    """

    def __init__(self, lister: Any = None) -> None:
        self._lister = lister

    def __call__(self, name: str) -> Labels:
        """Its labels; one that doesn't exist has only that of its name."""
        found: Namespace | None = self._lister.get(name) if self._lister is not None else None
        return labels_of(name, NO_LABELS if found is None else found.labels)


@lru_cache(maxsize=4096)
def labels_of(name: str, labels: Labels) -> Labels:
    """All labels of a namespace."""
    return Labels({**labels, NAME_LABEL: name})
