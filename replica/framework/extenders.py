"""Extenders: programs elsewhere that have a say in filtering, scoring, preemption and binding, asked after the plugins.

What they say is not believed where it can't be true: an answer about nodes that were not asked about is a failure. A
failure of one that may be ignored leaves it out for that pod; of one that may not, it ends the pod's cycle, as that of
a plugin does. To bind, an extender agrees: the bind itself is the scheduler's guarded write.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from component import logs
from replica.framework.interface import HIGHEST_SCORE, Refusal
from replica.framework.status import SUCCESS, Code, PluginFailed, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lockd.fencing import Guard
    from replica.api.pods import Pod
    from replica.cache.nodes import Flags, Nodes
    from replica.framework.filtering import Trace
    from replica.framework.scoring import Scores
    from replica.framework.victims import Victims

_log = logs.get(__name__)

HIGHEST_PRIORITY = 10
"""What an extender gives a node at most."""


class ExtenderFailed(Exception):
    """An extender gave no answer, or one that can't be true.

    Attributes:
        name: The extender's.
        reason: What is wrong, one line.
    """

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"extender {name}: {reason}")
        self.name = name
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Filtered:
    """An extender's answer.

    Attributes:
        passed: The nodes that can take the pod.
        failed: Node -> why it can't, where removing pods may help.
        unresolvable: The same where it won't.
    """

    passed: frozenset[str]
    failed: Mapping[str, str] = field(default_factory=dict)
    unresolvable: Mapping[str, str] = field(default_factory=dict)


class Extender(Protocol):
    """One of them. Each verb is asked only if it has it; each may raise ExtenderFailed."""

    @property
    def name(self) -> str: ...

    @property
    def ignorable(self) -> bool: ...

    @property
    def weight(self) -> int: ...

    @property
    def timeout(self) -> float:
        """Seconds that an answer takes at most."""
        ...

    @property
    def verbs(self) -> frozenset[str]:
        """Of `filter`, `prioritize`, `bind`, `preempt`."""
        ...

    def interested(self, pod: Pod) -> bool: ...

    def filter(self, pod: Pod, names: Sequence[str]) -> Filtered: ...

    def prioritize(self, pod: Pod, names: Sequence[str]) -> Mapping[str, int]:
        """Node -> 0 to HIGHEST_PRIORITY; one left out has 0."""
        ...

    def bind(self, pod: Pod, node_name: str) -> None:
        """Agree to a bind, and do what it takes beside the scheduler's own write."""
        ...

    def preempt(self, pod: Pod, candidates: Mapping[str, Victims]) -> Mapping[str, Victims]:
        """The candidates left, each with those of its victims that must go indeed."""
        ...

    def lead(self, guard: Guard | None) -> None:
        """A term begins, whose guard its requests show; None: it is over, and whoever waits for an answer is let go."""
        ...


class Extenders:
    """All of a replica's, in the order of configuration. Asked on the scheduling thread, but for `bind`."""

    def __init__(self, extenders: Sequence[Extender] = ()) -> None:
        self._all = tuple(extenders)
        self._patience: Callable[[float], None] = _unheard

    def __len__(self) -> int:
        return len(self._all)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self._all)

    def lead(self, guard: Guard | None, patience: Callable[[float], None] | None = None) -> None:
        """A term begins, or is over.

        Args:
            patience: Told before the scheduling thread waits for an answer: for how many seconds at most.
        """
        self._patience = patience or _unheard
        for each in self._all:
            each.lead(guard)

    def look_at(self, pod: Pod) -> bool:
        """Does any of them filter or score this pod? What they say of a node may change at any time."""
        return any(each.verbs & {"filter", "prioritize"} and each.interested(pod) for each in self._all)

    def filter(self, pod: Pod, nodes: Nodes, feasible: Flags, trace: Trace) -> Flags:
        """The feasible rows that they leave; what they refuse goes to the trace.

        Raises:
            PluginFailed: One failed that may not be ignored.
        """
        for each in self._all:
            if "filter" not in each.verbs or not feasible.any() or not each.interested(pod):
                continue
            names = [nodes.names[row] for row in np.flatnonzero(feasible).tolist()]
            try:
                self._patience(each.timeout)
                found = each.filter(pod, names)
                _believe(each.name, names, found.passed, found.failed, found.unresolvable)
            except ExtenderFailed as error:
                self._failed(each, "Filter", error, pod)
                continue
            passed = feasible & nodes.named(found.passed)
            trace.refusals.append((each.name, _refusals(each.name, nodes, feasible & ~passed, found)))
            feasible = passed
        return feasible

    def score(self, pod: Pod, nodes: Nodes, feasible: Flags, scores: Scores) -> None:
        """Add what they give. One that fails gives nothing, as kube-scheduler has it."""
        for each in self._all:
            if "prioritize" not in each.verbs or not each.interested(pod):
                continue
            names = [nodes.names[row] for row in np.flatnonzero(feasible).tolist()]
            try:
                self._patience(each.timeout)
                found = each.prioritize(pod, names)
                _believe(each.name, names, found)
                _check_range(each.name, found)
            except ExtenderFailed as error:
                _log.warning("extender ignored", extender=each.name, verb="prioritize", reason=error.reason)
                continue
            for name, score in found.items():
                scores.base[nodes.index[name]] += score * each.weight * (HIGHEST_SCORE // HIGHEST_PRIORITY)

    @property
    def may_bind(self) -> bool:
        """Has any of them a say in binding?"""
        return any("bind" in each.verbs for each in self._all)

    def bind(self, pod: Pod, node_name: str) -> Status | None:
        """Ask the one that binds this pod, if any does; success has the guarded write made."""
        for each in self._all:
            if "bind" not in each.verbs or not each.interested(pod):
                continue
            try:
                each.bind(pod, node_name)
            except ExtenderFailed as error:
                return Status(Code.ERROR, (str(error),), each.name, error)
            return SUCCESS
        return None

    def preempt(self, pod: Pod, candidates: Mapping[str, Victims]) -> Mapping[str, Victims]:
        """The candidates for preemption that they leave.

        Raises:
            PluginFailed: One failed that may not be ignored.
        """
        for each in self._all:
            if "preempt" not in each.verbs or not candidates or not each.interested(pod):
                continue
            try:
                self._patience(each.timeout)
                found = each.preempt(pod, candidates)
                _believe(each.name, tuple(candidates), found)
            except ExtenderFailed as error:
                self._failed(each, "PostFilter", error, pod)
                continue
            candidates = found
        return candidates

    def _failed(self, extender: Extender, point: str, error: ExtenderFailed, pod: Pod) -> None:
        if not extender.ignorable:
            raise PluginFailed(extender.name, point, error.reason) from error
        _log.warning("extender ignored", extender=extender.name, point=point, pod=pod.path, reason=error.reason)


def _unheard(_seconds: float) -> None:
    """Nobody needs to know."""


def _believe(name: str, asked: Sequence[str], *told: Mapping[str, object] | frozenset[str]) -> None:
    """What an extender says is about nodes that it was asked about."""
    known = frozenset(asked)
    for names in told:
        if strangers := frozenset(names) - known:
            raise ExtenderFailed(name, f"told of node {min(strangers)!r}, which it was not asked about")


def _check_range(name: str, scores: Mapping[str, int]) -> None:
    outside = [score for score in scores.values() if not 0 <= score <= HIGHEST_PRIORITY]
    if outside:
        raise ExtenderFailed(name, f"score {outside[0]} is outside 0 to {HIGHEST_PRIORITY}")


def _refusals(name: str, nodes: Nodes, refused: Flags, found: Filtered) -> list[Refusal]:
    """Each reason with its rows. A node that is left out without a word counts as well."""
    rows: dict[tuple[str, Code], Flags] = {}
    for row in np.flatnonzero(refused).tolist():
        node = nodes.names[row]
        if node in found.unresolvable:
            key = (found.unresolvable[node], Code.UNRESOLVABLE)
        else:
            key = (found.failed.get(node) or f"node(s) were refused by extender {name}", Code.UNSCHEDULABLE)
        rows.setdefault(key, np.zeros(nodes.size, np.bool_))[row] = True
    return [Refusal(reason, flags, code) for (reason, code), flags in rows.items()]
