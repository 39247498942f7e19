"""Where objects live in etcd: `<prefix>/<plural>/[<namespace>/]<name>`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from replica.api.kinds import kind_of_plural
from replica.api.names import NAME_LIMIT

if TYPE_CHECKING:
    from replica.api.kinds import Kind


@dataclass(frozen=True, slots=True)
class ObjectKey:
    """Which object a key is of. `namespace` is "" for kinds without."""

    kind: Kind
    namespace: str
    name: str

    @property
    def path(self) -> str:
        """`namespace/name`, or `name`: what indexers key objects by."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


def kind_prefix(prefix: str, kind: Kind, namespace: str = "") -> str:
    """What all keys of a kind (in one namespace) begin with, its slash included."""
    base = f"{prefix}/{kind.plural}/"
    return f"{base}{namespace}/" if kind.namespaced and namespace else base


def object_key(prefix: str, kind: Kind, name: str, namespace: str = "") -> str:
    """The key of one object.

    Raises:
        ValueError: A part is empty, too long, or holds a `/`: the key would be another object's, or none's.
    """
    parts = (namespace, name) if kind.namespaced else (name,)
    for part in parts:
        if not part or "/" in part or len(part.encode()) > NAME_LIMIT:
            raise ValueError(f"{kind.singular} {part!r}: a name is 1 to {NAME_LIMIT} bytes without '/'")
    return f"{prefix}/{kind.plural}/" + "/".join(parts)


def parse_key(prefix: str, key: str) -> ObjectKey | None:
    """The object that a key is of, or None for other keys (leases, terms, candidates ...)."""
    if not key.startswith(f"{prefix}/"):
        return None
    plural, *parts = key[len(prefix) + 1 :].split("/")
    kind = kind_of_plural(plural)
    if kind is None or len(parts) != (2 if kind.namespaced else 1) or not all(parts):
        return None
    return ObjectKey(kind, parts[0] if kind.namespaced else "", parts[-1])
