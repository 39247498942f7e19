"""A link: who dials whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

ETCD: Final = "etcd"
PRESENCE: Final = "presence"

STRANGER: Final = "stranger"
"""The source of connections whose process is none of the cluster's."""


@dataclass(frozen=True, slots=True, order=True)
class Link:
    """The connections of one process of a cluster to another, by names.

    Attributes:
        source: Who dials, such as `replica-2` or `lockd-1`; `stranger` for a process that is none of the cluster's.
        destination: Who is dialled: `etcd-1`, or a replica, whose presence it then is.
    """

    source: str
    destination: str

    @property
    def kind(self) -> str:
        """`etcd` or `presence`."""
        return ETCD if self.destination.startswith("etcd-") else PRESENCE

    def __str__(self) -> str:
        return f"{self.source} -> {self.destination}"
