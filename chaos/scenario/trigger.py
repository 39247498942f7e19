"""When an action is fired: at a moment, after an event, or when a condition holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chaos.cluster.plan import FAST
from chaos.scenario.length import Length
from chaos.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Iterator

EVENTS: Final = {
    "leader-acquired": "a term began",
    "leader-released": "a leader gave its term back",
    "renewal": "the lease was renewed",
    "bind": "a pod got its node",
    "pod-created": "a pod of the workload was created",
    "healed": "an action of this trial was undone",
}
"""What may be waited for by `after`, counted from the moment when the action before was fired."""

CONDITIONS: Final = {
    "bind-in-flight": "a pod of the workload is there and has no node yet: its bind is on its way",
    "no-leader": "nobody holds the lease",
    "leader": "somebody holds the lease",
}
"""What may be waited for by `when`: the first moment at which it holds, or the n-th time that it came to hold."""


_NOTHING: Final = Length()

_TIMINGS: Final = (Timing.of_flags(FAST), Timing())
"""Of `--fast` and `--defaults`: `1 lease` is less than 5s with the one, and more with the other."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """One of three kinds.

    Attributes:
        kind: `at`, `after` or `when`; `next`: as soon as the action before was fired.
        what: The event or condition, or "".
        nth: Which occurrence of it.
        earliest: For `at`: from the trial's beginning.
        latest: For `at`: the moment is drawn between the two.
        delay: What passes between the trigger and the fault.
    """

    kind: str
    what: str = ""
    nth: int = 1
    earliest: Length = _NOTHING
    latest: Length = _NOTHING
    delay: Length = _NOTHING


def moments(text: str) -> tuple[Length, Length]:
    """The two ends of `2s..5s`, or twice that of `2s`.

    Raises:
        ValueError: One line that names the text and the remedy.
    """
    first, between, last = text.partition("..")
    earliest = Length.parse(first)
    latest = Length.parse(last) if between else earliest
    if all(latest.under(timing) < earliest.under(timing) for timing in _TIMINGS):
        raise ValueError(f"{text[:60]!r} ends before it begins: write the earlier moment first")
    return earliest, latest


def problems(
    *, at: str | None, after: str | None, when: str | None, nth: int, delay: str | None
) -> Iterator[tuple[str, str]]:
    """What is wrong with a trigger as it is written: a field's name, and one line."""
    given = [name for name, value in (("at", at), ("after", after), ("when", when)) if value is not None]
    if len(given) > 1:
        yield given[1], f"stands beside {given[0]}: one of at, after and when is enough"
    if at is not None:
        try:
            moments(at)
        except ValueError as error:
            yield "at", str(error)
    if after is not None and after not in EVENTS:
        yield "after", _unknown(after, "event", EVENTS, when=CONDITIONS)
    if when is not None and when not in CONDITIONS:
        yield "when", _unknown(when, "condition", CONDITIONS, after=EVENTS)
    if nth < 1:
        yield "nth", f"{nth} must be at least 1: the first one"
    if nth != 1 and after is None and when is None:
        yield "nth", "counts what after or when wait for: give one of them"
    if delay is not None:
        try:
            Length.parse(delay)
        except ValueError as error:
            yield "delay", str(error)


def _unknown(text: str, what: str, known: dict[str, str], **other: dict[str, str]) -> str:
    for field, names in other.items():
        if text in names:
            return f"{text!r} belongs into {field}"
    return f"{text[:60]!r} is no {what}: take one of {', '.join(known)}"
