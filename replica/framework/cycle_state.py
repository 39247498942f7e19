"""What plugins pass from one extension point to the next while one pod is scheduled."""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

T = TypeVar("T")


@runtime_checkable
class Cloneable(Protocol):
    """State that a dry run (preemption) must not share with the cycle it tries things for."""

    def clone(self) -> Cloneable:
        """A copy that can be changed without changing this."""
        ...


class CycleState:
    """One pod's scratch pad: lives for one scheduling and binding cycle, written by one thread at a time.

    Attributes:
        skip_filter: Names of plugins whose Filter is left out, since their PreFilter said Skip.
        skip_score: The same for PreScore and Score.
        sampled: Spans and per-plugin timings are kept for this pod.
    """

    __slots__ = ("_values", "sampled", "skip_filter", "skip_score")

    def __init__(self, *, sampled: bool = False) -> None:
        self._values: dict[str, object] = {}
        self.skip_filter: set[str] = set()
        self.skip_score: set[str] = set()
        self.sampled = sampled

    def write(self, key: str, value: object) -> None:
        self._values[key] = value

    def read(self, key: str, kind: type[T]) -> T:
        """The value written under `key`.

        Raises:
            KeyError: Nothing was written: an extension point ran without the one before it.
            TypeError: Something else was.
        """
        value = self._values[key]
        if not isinstance(value, kind):
            raise TypeError(f"cycle state {key!r} holds a {type(value).__name__}, not a {kind.__name__}")
        return value

    def find(self, key: str, kind: type[T]) -> T | None:
        """As `read`, but None when nothing was written."""
        return self.read(key, kind) if key in self._values else None

    def delete(self, key: str) -> None:
        self._values.pop(key, None)

    def adopt(self, other: CycleState) -> None:
        """Take over what plugins wrote for a pod of the same signature; what can be cloned is."""
        self._values = other._copied()
        self.skip_filter = set(other.skip_filter)
        self.skip_score = set(other.skip_score)

    def clone(self) -> CycleState:
        """A copy for a dry run; values that can be cloned are, the others are shared."""
        copy = CycleState(sampled=False)
        copy._values = self._copied()
        copy.skip_filter = set(self.skip_filter)
        copy.skip_score = set(self.skip_score)
        return copy

    def _copied(self) -> dict[str, object]:
        return {key: value.clone() if isinstance(value, Cloneable) else value for key, value in self._values.items()}
