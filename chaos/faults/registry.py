"""The faults that there are, by name."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from chaos.faults import clocks, collector, isolation, keys, loops, members, network, parameters, processes, storage
from lockd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chaos.faults.fault import Fault

_ALL: Final[tuple[type[Fault], ...]] = (
    processes.Kill,
    processes.Terminate,
    processes.Pause,
    loops.CrashLoop,
    loops.RollingRestart,
    members.QuorumLoss,
    members.MoveLeader,
    storage.Compact,
    storage.OutOfSpace,
    storage.Defragment,
    keys.DeleteLease,
    keys.GarbleLease,
    keys.ForeignHolder,
    clocks.ShiftClock,
    collector.HangCollector,
    network.Cut,
    network.Delay,
    network.FailFirst,
    network.DropReplies,
    isolation.Isolate,
)

FAULTS: Final[Mapping[str, type[Fault]]] = MappingProxyType({fault.name: fault for fault in _ALL})
"""Every fault. Tests go over all of them: one that is added here is tested without being named there."""


def make(name: str, given: Mapping[str, Any] | None = None) -> Fault:
    """A fault with its parameters, as a scenario or a command line wrote them.

    Raises:
        ConfigError: No fault has that name, or the parameters are wrong: every mistake, one line each.
    """
    found = FAULTS.get(name)
    if found is None:
        raise ConfigError((f"no fault is named {name!r}{parameters.like(name, tuple(FAULTS))}",))
    return parameters.build(found, name, given or {})


def brief(fault: type[Fault]) -> str:
    """What a fault does: the first line of its docstring."""
    return (fault.__doc__ or "").strip().splitlines()[0]
