"""What clusters are made of, and which scenarios can't be run on which, and why. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chaos.faults.fault import Need
from chaos.scenario.faults import needs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chaos.scenario.model import Scenario

LOCAL: Final = "local"
COMPOSE: Final = "compose"
BACKENDS: Final = (LOCAL, COMPOSE)

_LACKS: Final[Mapping[str, Mapping[Need, str]]] = {
    LOCAL: {Need.NETWORKS: "processes of one host share its network: none can be taken off it"},
    COMPOSE: {
        Need.COLLECTOR: "the collector that hangs listens on this host's loopback, which containers don't reach",
    },
}
"""What a cluster of that kind can't be made with, and why."""

_FAULTS: Final[Mapping[str, Mapping[str, str]]] = {
    LOCAL: {},
    COMPOSE: {"defragment": "it is proved by the file that etcd has open, which is the container's own"},
}
"""Faults that can't be proved there, and why."""


def reasons(scenario: Scenario, backend: str) -> tuple[str, ...]:
    """Why a scenario can't be run on a backend, one line each; none: it can."""
    lacking = _LACKS[backend]
    named = {action.fault for _, action in scenario.actions()}
    unproved = _FAULTS[backend]
    return (
        *(lacking[need] for need in Need if need in needs(scenario) and need in lacking),
        *(f"{fault}: {why}" for fault, why in unproved.items() if fault in named),
    )


def backends(scenario: Scenario) -> tuple[str, ...]:
    """Those that it can be run on."""
    return tuple(each for each in BACKENDS if not reasons(scenario, each))
