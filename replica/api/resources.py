"""Amounts of resources, as integers: cpu in millicores, memory and storage in bytes, everything else in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from replica.api.quantities import LARGEST, QuantityError, amount, cpu_milli, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Amounts = tuple[tuple[str, int], ...]
"""(resource, amount) pairs, sorted by resource."""

CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
HUGE_PAGES: Final = "hugepages-"

DEFAULT_CPU: Final = 100
"""Millicores that a container without a request counts when nodes are scored."""

DEFAULT_MEMORY: Final = 200 * 1024 * 1024
"""Bytes that a container without a request counts when nodes are scored."""


def parse_amount(resource: str, quantity: str | float) -> int:
    """The integer that a resource's quantity stands for.

    Args:
        quantity: As in a manifest: YAML and JSON may give a number in place of a text.

    Raises:
        QuantityError: No quantity, a negative one, or a share of something that can't be split.
    """
    text = quantity if isinstance(quantity, str) else str(quantity)
    if resource == CPU:
        return cpu_milli(text)
    if resource in {MEMORY, EPHEMERAL_STORAGE} or resource.startswith(HUGE_PAGES):
        return amount(text)
    return whole(text)


def parse_amounts(quantities: Mapping[str, str | float]) -> dict[str, int]:
    """All amounts of a resource list.

    Raises:
        QuantityError: As `parse_amount`; the message names the resource.
    """
    amounts = {}
    for resource, quantity in quantities.items():
        try:
            amounts[resource] = parse_amount(resource, quantity)
        except QuantityError as error:
            raise QuantityError(f"{resource}: {error}") from error
    return amounts


def frozen(amounts: Mapping[str, int]) -> Amounts:
    """The same amounts, sorted and hashable, none beyond what a 64-bit integer holds."""
    return tuple(sorted((resource, min(count, LARGEST)) for resource, count in amounts.items()))


def add(total: dict[str, int], more: Iterable[tuple[str, int]]) -> None:
    """Add amounts to `total`."""
    for resource, count in more:
        total[resource] = total.get(resource, 0) + count


def raise_to(total: dict[str, int], other: Iterable[tuple[str, int]]) -> None:
    """Raise each amount of `total` to at least that of `other`."""
    for resource, count in other:
        if count > total.get(resource, -1):
            total[resource] = count


def pod_total(
    containers: Iterable[Mapping[str, int]],
    init_containers: Iterable[tuple[Mapping[str, int], bool]],
    overhead: Mapping[str, int],
) -> dict[str, int]:
    """What a pod needs at its greediest moment.

    Containers run together, with every restartable init container (a sidecar); each other init container runs alone
    but for the sidecars started before it.

    Args:
        init_containers: In their order, each with whether it is restartable.
    """
    running: dict[str, int] = {}
    for requests in containers:
        add(running, requests.items())
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for requests, restartable in init_containers:
        if restartable:
            add(running, requests.items())
            add(sidecars, requests.items())
            raise_to(peak, sidecars.items())
        else:
            alone = dict(sidecars)
            add(alone, requests.items())
            raise_to(peak, alone.items())
    raise_to(running, peak.items())
    add(running, overhead.items())
    return running


def is_extended(resource: str) -> bool:
    """Is it none of Kubernetes' own resources, which have no domain or one of kubernetes.io?"""
    domain, slash, _ = resource.partition("/")
    return bool(slash) and not domain.endswith("kubernetes.io")
