"""What a command line of `chaosctl hurt` asks for. Pure: from its words to a fault, a role and a length."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from chaos.faults import registry
from chaos.faults.fault import Kind
from chaos.faults.parameters import SECONDS
from chaos.roles import Role
from lockd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chaos.faults.fault import Fault

BARE: Final = "\0"
"""The value of a fault's flag that came without one."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done.

    Attributes:
        given: The fault's parameters, as they were written.
        role: None: the fault is aimed at the cluster.
        lasts: Seconds; None: as long as it takes by itself, else until a signal.
    """

    fault: Fault
    given: Mapping[str, Any]
    role: Role | None
    lasts: float | None


def order(role: str | None, flags: Mapping[str, str | None], settings: Sequence[str], lasts: float | None) -> Order:
    """Read a command line.

    Args:
        flags: The value of each fault's flag; None: it isn't there, BARE: it has none.
        settings: `name=value` of the fault's further parameters.
        lasts: Of `--for`.

    Raises:
        ConfigError: Has one line for each mistake.
    """
    named = {name: value for name, value in flags.items() if value is not None}
    if len(named) != 1:
        many = f"{' and '.join(f'--{name}' for name in named)} are too many" if named else "no fault is named"
        raise ConfigError((f"{many}: name one, such as --kill; `chaosctl hurt --help` lists them",))
    ((name, value),) = named.items()
    role, value = _swapped(role, value, registry.FAULTS[name])
    given, problems = _settings(settings)
    leading = leads(registry.FAULTS[name])
    if value != BARE and leading is not None:
        given[leading] = value
    elif value != BARE:
        if lasts is not None:
            problems.append(f"--{name} {value} and --for both say how long it lasts: leave one of the two out")
        try:
            lasts = SECONDS.parse(value)
        except ValueError as error:
            problems.append(f"--{name}: {error}")
    fault: Fault | None = None
    try:
        fault = registry.make(name, given)
    except ConfigError as error:
        problems += error.problems
    aimed = _aimed(name, role, problems)
    if problems or fault is None:
        raise ConfigError(tuple(problems))
    return Order(fault, given, aimed, lasts)


def leads(fault: type[Fault]) -> str | None:
    """The parameter that a fault's flag takes as its value; None: that is how long it lasts."""
    return next((field.name for field in dataclasses.fields(fault) if field.metadata.get("leading")), None)  # type: ignore[arg-type]  # faults are dataclasses


def _swapped(role: str | None, value: str, fault: type[Fault]) -> tuple[str | None, str]:
    """`--kill leader` is `leader --kill`."""
    if role is None and value != BARE and fault.aims:
        try:
            Role.parse(value)
        except ValueError:
            return role, value
        return value, BARE
    return role, value


def _settings(settings: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    given: dict[str, Any] = {}
    problems = []
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            problems.append(f"--set {setting}: write name=value, such as every=2s")
        given[name] = value
    return given, problems


def _aimed(name: str, text: str | None, problems: list[str]) -> Role | None:
    aims = registry.FAULTS[name].aims
    kinds = ", ".join(sorted(kind.value for kind in aims))
    if text is None:
        if aims:
            problems.append(f"--{name}: at whom? Write a role before it, such as leader or etcd-1 ({kinds})")
        return None
    if not aims:
        problems.append(f"--{name} is aimed at the whole cluster: leave {text!r} out")
        return None
    try:
        role = Role.parse(text)
    except ValueError as error:
        problems.append(str(error))
        return None
    if (kind := kind_of(role)) not in aims:
        problems.append(
            f"--{name} can't be aimed at {text} ({kind.value if kind else 'of a workload'}): only at {kinds}"
        )
    return role


def kind_of(role: Role) -> Kind | None:
    """What has a role; None: nothing of a cluster."""
    if role.of_etcd:
        return Kind.ETCD
    if role.kind.startswith("lock-"):
        return None
    return Kind.DAEMON if role.kind == "lockd" else Kind.REPLICA
