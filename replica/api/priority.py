"""Priority classes, and which priority a pod has."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

import msgspec

from replica.api.kinds import PRIORITY_CLASS, Kind
from replica.api.objects import Metadata, Object
from replica.api.podspec import PREEMPT_LOWER
from replica.api.wire import Reader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from replica.api.podspec import PodSpec

HIGHEST_USER_PRIORITY: Final = 1_000_000_000
"""Classes of users stay at or below it."""


class PriorityClass(Object, frozen=True, gc=False, kw_only=True):
    """A priority by name.

    Attributes:
        value: Higher goes first.
        default: Does it hold for pods that name no class?
        preemption: `PreemptLowerPriority` or `Never`.
    """

    KIND: ClassVar[Kind] = PRIORITY_CLASS

    value: int = 0
    default: bool = False
    preemption: str = PREEMPT_LOWER


SYSTEM_CLASSES: Final = (
    PriorityClass(name="system-cluster-critical", value=2 * HIGHEST_USER_PRIORITY),
    PriorityClass(name="system-node-critical", value=2 * HIGHEST_USER_PRIORITY + 1000),
)
"""Classes that are always there."""

_SYSTEM: Final = {each.name: each for each in SYSTEM_CLASSES}


def default_class(classes: Iterable[PriorityClass]) -> PriorityClass | None:
    """The class for pods that name none: of several the one with the lowest value, as in Kubernetes."""
    return min((each for each in classes if each.default), key=lambda each: (each.value, each.name), default=None)


def priority_of(spec: PodSpec, find: Callable[[str], PriorityClass | None], default: PriorityClass | None) -> int:
    """A pod's priority: its own number, else its class's, else the default's, else 0.

    Args:
        find: The class of a name; the system's classes need not be known to it.
    """
    if spec.priority is not None:
        return spec.priority
    named = (find(spec.priority_class) or _SYSTEM.get(spec.priority_class)) if spec.priority_class else default
    return named.value if named is not None else 0


class _Document(msgspec.Struct, gc=False, rename="camel"):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    value: int = 0
    global_default: bool = False
    preemption_policy: str = PREEMPT_LOWER


_READER: Final = Reader(_Document)


def read_priority_class(raw: bytes) -> tuple[Metadata, dict[str, Any]]:
    """A priority class's metadata and own fields, from its manifest.

    Raises:
        msgspec.MsgspecError: Not JSON, or a field of another type.
    """
    document = _READER.read(raw)
    return document.metadata, {
        "value": document.value,
        "default": document.global_default,
        "preemption": document.preemption_policy,
    }
