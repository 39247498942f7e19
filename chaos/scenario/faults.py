"""What a scenario's faults may be called, what each may be given, and whom it may be aimed at."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Protocol

from chaos import roles
from chaos.faults.fault import Kind
from chaos.faults.registry import FAULTS, make
from chaos.scenario.length import UNITS, Length
from chaos.timing import Timing
from lockd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from chaos.faults.fault import Need
    from chaos.roles import Role
    from chaos.scenario.model import Action, Scenario

_RELATIVE: Final = re.compile(rf"\d\s+({'|'.join(UNITS)})\b")


class Faults(Protocol):
    """The faults that there are."""

    def problems(self, action: Action) -> Iterable[tuple[str, str]]:
        """What is wrong with an action's fault, its parameters and whom it is aimed at: a path in it, and one line."""
        ...


class Registered:
    """The faults of `chaos.faults`."""

    def problems(self, action: Action) -> Iterator[tuple[str, str]]:
        try:
            make(action.fault, concrete(action.parameters, Timing()))
        except ConfigError as error:
            where = "parameters" if action.fault in FAULTS else "fault"
            yield from ((where, problem) for problem in error.problems)
        except ValueError as error:
            yield "parameters", str(error)
        aims = FAULTS[action.fault].aims if action.fault in FAULTS else None
        if aims is None or (action.target is not None and roles.problem(action.target) is not None):
            return
        if not aims:
            if action.target is not None:
                yield "target", f"{action.fault} takes none: it is done to the cluster"
        elif (kind := kind_of(action.role)) not in aims and not (kind is None and aims == frozenset(Kind)):
            told = " or ".join(sorted(each.value for each in aims))
            yield "target", f"{action.fault} is no fault of {action.role}: it is aimed at {told}"


def kind_of(role: Role) -> Kind | None:
    """What kind of process has a role; None: one that is no part of the cluster."""
    if role.of_etcd:
        return Kind.ETCD
    if role.kind.startswith("lock-"):
        return None
    return Kind.DAEMON if role.kind == "lockd" else Kind.REPLICA


def concrete(parameters: Mapping[str, Any], timing: Timing) -> dict[str, Any]:
    """Parameters with lengths such as `1.3 lease` in seconds."""
    return {
        name: Length.parse(value).under(timing) if isinstance(value, str) and _RELATIVE.search(value) else value
        for name, value in parameters.items()
    }


def takes_target(fault: str) -> bool:
    """Is a fault aimed at somebody, not at the whole cluster?"""
    return bool(FAULTS[fault].aims)


def needs(scenario: Scenario) -> frozenset[Need]:
    """What the cluster must have been made with for a scenario."""
    return frozenset(need for _, action in scenario.actions() for need in FAULTS[action.fault].needs)
