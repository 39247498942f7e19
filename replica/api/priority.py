"""Priority classes, and which priority a pod has.

A user's tool settles it when it stores a pod, as an API server does: number and policy of the class go into the
manifest. Of a pod that somebody else stored, without a number, the classes that there are decide.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

import msgspec

from lockd.errors import LockdError
from replica.api.kinds import PRIORITY_CLASS, Kind
from replica.api.objects import Metadata, Object
from replica.api.podspec import PREEMPT_LOWER, PREEMPT_NEVER
from replica.api.wire import Reader

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
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


class NoSuchClass(LockdError):
    """A pod names a priority class that there isn't."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no PriorityClass with name {name} was found: create it first, or give spec.priority")


class OtherPriority(LockdError):
    """A pod states another priority than its class gives it."""


class Classes:
    """The priority classes that there are, the system's among them. Changes may come from one thread at a time.

    Attributes:
        version: Grows with each change.
    """

    def __init__(self, classes: Iterable[PriorityClass] = ()) -> None:
        self._classes = {**_SYSTEM, **{each.name: each for each in classes}}
        self._default = _default(self._classes)
        self.version = 0

    def put(self, found: PriorityClass) -> None:
        """A class was made, or changed."""
        self._change({**self._classes, found.name: found})

    def remove(self, name: str) -> None:
        """A class is gone; the system's are always there."""
        left = {each: found for each, found in self._classes.items() if each != name}
        self._change(left | ({name: _SYSTEM[name]} if name in _SYSTEM else {}))

    def _change(self, classes: Mapping[str, PriorityClass]) -> None:
        # Others read at the same time, and never see half of a change.
        self._classes, self._default = dict(classes), _default(classes)
        self.version += 1

    @property
    def default(self) -> PriorityClass | None:
        """The class of pods that name none."""
        return self._default

    def get(self, name: str) -> PriorityClass | None:
        return self._classes.get(name)

    def of(self, spec: PodSpec) -> PriorityClass | None:
        """The class of a pod; None where it names one that there isn't, or none and there is no default."""
        return self._classes.get(spec.priority_class) if spec.priority_class else self._default

    def priority(self, spec: PodSpec) -> int:
        """A pod's priority: its own number, else its class's, else 0."""
        if spec.priority is not None:
            return spec.priority
        found = self.of(spec)
        return found.value if found is not None else 0

    def preempts(self, spec: PodSpec) -> bool:
        """May others have to make room for a pod, by its own policy, else its class's?"""
        if spec.preemption:
            return spec.preemption != PREEMPT_NEVER
        found = self.of(spec)
        return found is None or found.preemption != PREEMPT_NEVER

    def resolved(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """A new pod's `spec` with class, number and policy filled in, as an API server would.

        Raises:
            NoSuchClass: It names a class that there isn't, and gives no number.
            OtherPriority: It gives another number than its class.
        """
        name, number = spec.get("priorityClassName") or "", spec.get("priority")
        found = self._classes.get(name) if name else self._default
        if found is None:
            if name and number is None:
                raise NoSuchClass(name)
            # Out of another cluster, whose classes are not all here: the number is what counts.
            return {**spec, "priority": number or 0, "preemptionPolicy": spec.get("preemptionPolicy") or PREEMPT_LOWER}
        if number is not None and number != found.value:
            if not name:  # settled where it comes from, where that was no default
                return {**spec, "preemptionPolicy": spec.get("preemptionPolicy") or PREEMPT_LOWER}
            raise OtherPriority(
                f"spec.priority: {number} is not the {found.value} of the PriorityClass {found.name}: leave it out"
            )
        filled = {"priorityClassName": found.name, "priority": found.value, "preemptionPolicy": found.preemption}
        return {**spec, **filled}


def _default(classes: Mapping[str, PriorityClass]) -> PriorityClass | None:
    """Of several the one with the lowest value, as in Kubernetes."""
    found = (each for each in classes.values() if each.default)
    return min(found, key=lambda each: (each.value, each.name), default=None)


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
