"""The informers' metrics, by client-go's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from component.metrics import exponential_buckets, observed
from component.metrics.histogram import histogram

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from component.metrics.histogram import Histogram
    from component.metrics.observed import Values
    from replica.api.kinds import Kind

NAME: Final = "kube-scheduler"
"""Whose informers they are."""

LATENCY_BUCKETS: Final = exponential_buckets(0.00001, 4, 10)


def labels_of(kind: Kind) -> tuple[str, str, str, str]:
    """name, group, version and resource."""
    return (NAME, kind.group, kind.versions[0].rpartition("/")[2], kind.plural)


def processing_latency() -> Histogram:
    """Seconds that what was popped from a delta FIFO at once took to reach the indexer and the listeners' buffers."""
    return histogram(
        "informer_processing_latency",
        unit="s",
        labels=("name", "group", "version", "resource"),
        buckets=LATENCY_BUCKETS,
        description="Time that a batch of deltas takes from the queue to the store and the listeners",
    )


class Measured(Protocol):
    """What is read of an informer."""

    @property
    def kind(self) -> Kind: ...

    @property
    def waiting(self) -> int:
        """Keys whose deltas have not been applied yet."""
        ...

    @property
    def passed(self) -> int:
        """All changes up to this revision are in the store."""
        ...


class InformerMetrics:
    """What is read of a process's informers when somebody asks."""

    def __init__(self, informers: Mapping[str, Measured]) -> None:
        self._informers = tuple(informers.values())
        observed.gauge("informer_queued_items", self._queued, description="Keys whose changes wait to be applied")
        observed.gauge(
            "informer_store_resource_version",
            self._revisions,
            description="The revision up to which the store holds all changes",
        )

    def _queued(self) -> Values:
        return self._observe(lambda informer: informer.waiting)

    def _revisions(self) -> Values:
        return self._observe(lambda informer: informer.passed)

    def _observe(self, read: Callable[[Measured], int]) -> Values:
        names = ("name", "group", "version", "resource")
        return [(read(each), dict(zip(names, labels_of(each.kind), strict=True))) for each in self._informers]
