"""What the pods of a node take: demands, and their exact sums."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from replica.api import resources
from replica.cache.nodes import LANES

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from replica.api.pods import Pod
    from replica.api.podspec import HostPort, PodSpec
    from replica.cache.nodes import Amounts

LIMIT = 1 << 56
"""Amounts of a node above this (64 PiB) count as this, so that a score's `100 * amount` stays within int64."""

DEMAND_LIMIT = 2 * LIMIT
"""Requests above this count as this: above LIMIT still, so they fit no node."""

SCORED = 2
"""The lanes that are summed for scores apart: of CPU and MEMORY."""


class Demand(msgspec.Struct, frozen=True, gc=False, kw_only=True, cache_hash=True):
    """What a pod takes from its node, sorted out for the table and for the plugins.

    Attributes:
        cpu: Millicpu.
        memory: Bytes.
        ephemeral: Bytes of ephemeral storage.
        extended: Resource name and whole units of everything else that is requested.
        scoring_cpu: Millicpu with 100m for each container that requests none. For scores only.
        scoring_memory: Bytes with 200Mi for each container that requests none. For scores only.
    """

    cpu: int = 0
    memory: int = 0
    ephemeral: int = 0
    extended: tuple[tuple[str, int], ...] = ()
    scoring_cpu: int = 0
    scoring_memory: int = 0


@lru_cache(maxsize=4096)
def demand_of(spec: PodSpec) -> Demand:
    """What pods of this specification take."""
    amounts = {name: min(amount, DEMAND_LIMIT) for name, amount in spec.requests}
    return Demand(
        cpu=amounts.pop(resources.CPU, 0),
        memory=amounts.pop(resources.MEMORY, 0),
        ephemeral=amounts.pop(resources.EPHEMERAL_STORAGE, 0),
        extended=tuple((name, amount) for name, amount in amounts.items() if amount and name != resources.PODS),
        scoring_cpu=min(spec.scoring_cpu, DEMAND_LIMIT),
        scoring_memory=min(spec.scoring_memory, DEMAND_LIMIT),
    )


@lru_cache(maxsize=4096)
def shares_of(spec: PodSpec) -> tuple[int, ...]:
    """What a pod of this specification adds to each of its node's sums."""
    demand = demand_of(spec)
    return (demand.cpu, demand.memory, demand.ephemeral, 1, demand.scoring_cpu, demand.scoring_memory)


@dataclass(slots=True)
class Occupancy:
    """A node name: its row while the node exists, its pods, and their exact sums (Python's integers don't overflow).

    Attributes:
        pods: By uid; the table has this very dictionary in the row.
        sums: By the lanes that always exist, and then both of scoring.
        extended: By further lanes.
    """

    row: int | None = None
    pods: dict[str, Pod] = field(default_factory=dict)
    sums: list[int] = field(default_factory=lambda: [0] * (len(LANES) + SCORED))
    extended: dict[int, int] = field(default_factory=dict)
    ports: Counter[HostPort] = field(default_factory=Counter)


def columns_of(all_of: Collection[Occupancy]) -> Amounts:
    """int64[sum, entry]: their sums, none above `DEMAND_LIMIT`."""
    sums = [entry.sums for entry in all_of]
    try:
        exact: NDArray[Any] = np.array(sums, np.int64)
    except OverflowError:  # somebody asks for more than can be
        exact = np.array(sums, np.object_)
    found: Amounts = np.minimum(exact, DEMAND_LIMIT).astype(np.int64)
    return found.reshape(len(sums), len(LANES) + SCORED).T
