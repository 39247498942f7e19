"""The Filter plugins asked about nodes as they would be without some of their pods."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from replica.cache.occupancy import DEMAND_LIMIT
from replica.framework.filtering import Trace
from replica.framework.interface import TryingPlugin
from replica.framework.status import PluginFailed, as_failure
from replica.framework.what_if import lanes_of, what_if

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from replica.api.pods import Pod
    from replica.api.podspec import PodSpec
    from replica.cache.nodes import Nodes
    from replica.framework.attempts import Attempt
    from replica.framework.cycle_state import CycleState
    from replica.framework.diagnosis import Diagnosis
    from replica.framework.evaluation import Evaluator
    from replica.framework.filtering import Filtering
    from replica.framework.interface import Handle, PostFilterPlugin, PreFilterExtensions, RowFilterPlugin
    from replica.framework.promises import Promised, Promises
    from replica.framework.status import Status


class FilterTrials:
    """The Filter plugins of a profile, and what is promised, for whoever tries things with them."""

    def __init__(
        self, evaluator: Evaluator, promises: Promises, handle: Handle, signature: Callable[[Pod], Hashable | None]
    ) -> None:
        self._evaluator = evaluator
        self._promises = promises
        self._handle = handle
        self._signature = signature

    def equip(self, plugins: Iterable[PostFilterPlugin]) -> None:
        """Give it to those that want it."""
        for plugin in plugins:
            if isinstance(plugin, TryingPlugin):
                plugin.equip(self)

    def kind(self, state: CycleState, pod: Pod, nodes: Nodes) -> Hashable | None:
        """The signature with what plugins look at beyond single nodes, and the priority that decides who goes.

        Args:
            state: As PreFilter left it.
        """
        signature = self._signature(pod) if self._evaluator.alone(state) else None
        if signature is None:
            return None
        handle = self._handle
        return signature, self._evaluator.across(pod, nodes), handle.priority(pod), handle.classes.version

    def begin(self, state: CycleState, pod: Pod, nodes: Nodes) -> FilterTrial:
        """Trials of one pod.

        Args:
            state: As PreFilter left it; it isn't changed.
        """
        return FilterTrial(self._evaluator.filtering, state, pod, nodes, self._promises.heeded(pod, nodes))


class FilterTrial:
    """One pod's attempts, one node after the other.

    Attributes:
        promised: Where pods of equal or higher priority were promised room.
    """

    def __init__(self, filtering: Filtering, state: CycleState, pod: Pod, nodes: Nodes, promised: Promised) -> None:
        self.promised = promised
        self._subject = _Subject(filtering, state, pod, nodes)
        self._filters = self._subject.row_filters()
        self._table: _Table | None = None

    def on(self, row: int) -> Attempt:
        """An attempt on one node. The one before is over."""
        subject = self._subject
        there = subject.nodes.pods[row]
        promised = [pod for pod in self.promised.on(row) if pod.uid not in there]
        if self._filters is None or int(subject.nodes.requested[:, row].max()) >= DEMAND_LIMIT:
            return _PartAttempt(subject, row, promised)
        if self._table is None:
            self._table = _Table(subject.nodes)
        return _RowAttempt(subject, row, promised, filters=self._filters, table=self._table)


@dataclass(frozen=True, slots=True)
class _Subject:
    """What all attempts of a trial have in common."""

    filtering: Filtering
    state: CycleState
    pod: Pod
    nodes: Nodes

    def row_filters(self) -> tuple[RowFilterPlugin, ...] | None:
        """The Filter plugins for this pod, if each can be asked about one row and none keeps count of other pods."""
        # Host ports are kept by row of the whole table, and a copy of all would cost more than it saves.
        if self.pod.spec.host_ports or self.extensions():
            return None
        skipped = self.state.skip_filter
        by_row = tuple(each for each in self.filtering.by_row if each.name not in skipped)
        return by_row if len(by_row) == sum(each.name not in skipped for each in self.filtering.plugins) else None

    def extensions(self) -> list[PreFilterExtensions]:
        """The plugins that keep count of other pods for this one."""
        return [each for each in self.filtering.extensions if each.name not in self.state.skip_filter]


class _Table:
    """A copy of the node table in which one row at a time is another one."""

    def __init__(self, nodes: Nodes) -> None:
        self._original = nodes
        self._lanes: dict[PodSpec, tuple[tuple[int, int], ...]] = {}
        self._pods: list[Mapping[str, Pod]] = list(nodes.pods)
        self._row = 0
        self.nodes = nodes.over(nodes.requested.copy(), self._pods)

    def turn_to(self, row: int) -> dict[str, Pod]:
        """Put the row that was changed back, and give the pods of another, to be changed in place."""
        original = self._original
        self.nodes.requested[:, self._row] = original.requested[:, self._row]
        self._pods[self._row] = original.pods[self._row]
        self._row = row
        self._pods[row] = pods = dict(original.pods[row])
        return pods

    def move(self, pod: Pod, sign: int) -> None:
        """What a pod takes is added, or (-1) taken away."""
        lanes = self._lanes.get(pod.spec)
        if lanes is None:
            asked = ((lane, amount) for lane, amount in lanes_of(self._original, pod.spec) if amount)
            lanes = self._lanes[pod.spec] = tuple(asked)
        requested, row = self.nodes.requested, self._row
        for lane, amount in lanes:
            requested[lane, row] += sign * amount


class _RowAttempt:
    """Filters are asked about a row of a copy of the table."""

    def __init__(
        self,
        subject: _Subject,
        row: int,
        promised: Sequence[Pod],
        *,
        filters: Sequence[RowFilterPlugin],
        table: _Table,
    ) -> None:
        self._subject = subject
        self._row = row
        self._promised = promised
        self._filters = filters
        self._table = table
        self._pods = table.turn_to(row)

    def without(self, pods: Sequence[Pod]) -> None:
        for pod in pods:
            self._table.move(pod, -1)
            del self._pods[pod.uid]

    def keeps(self, pod: Pod) -> bool:
        self._add(pod)
        if self.fits():
            return True
        self.without((pod,))
        return False

    def fits(self) -> bool:
        if self._promised:
            for pod in self._promised:
                self._add(pod)
            passes = self._passes()
            self.without(self._promised)
            if not passes:
                return False
        return self._passes()

    def refusal(self) -> Diagnosis:
        part = _PartAttempt(self._subject, self._row, self._promised)
        part.without([pod for uid, pod in self._subject.nodes.pods[self._row].items() if uid not in self._pods])
        return part.refusal()

    def _passes(self) -> bool:
        state, pod, nodes = self._subject.state, self._subject.pod, self._table.nodes
        for plugin in self._filters:
            try:
                if not plugin.filter_row(state, pod, nodes, self._row):
                    return False
            except Exception as error:
                raise as_failure(error, plugin.name, "Filter") from error
        return True

    def _add(self, pod: Pod) -> None:
        self._table.move(pod, 1)
        self._pods[pod.uid] = pod


class _PartAttempt:
    """Filters are asked about one row as nodes of its own, and plugins that keep count are told who goes and comes."""

    def __init__(self, subject: _Subject, row: int, promised: Sequence[Pod]) -> None:
        self._filtering = subject.filtering
        self._state = subject.state.clone()
        self._pod = subject.pod
        self._nodes = subject.nodes
        self._row = row
        self._extensions = subject.extensions()
        self._promised = promised
        self._gone: dict[str, Pod] = {}

    def without(self, pods: Sequence[Pod]) -> None:
        self._gone.update((pod.uid, pod) for pod in pods)
        part = self._part()
        for pod in pods:
            for plugin in self._extensions:
                _tell(plugin.name, partial(plugin.remove_pod, self._state, self._pod, pod, part))

    def keeps(self, pod: Pod) -> bool:
        del self._gone[pod.uid]
        part = self._part()
        for plugin in self._extensions:
            _tell(plugin.name, partial(plugin.add_pod, self._state, self._pod, pod, part))
        if self.fits():
            return True
        self.without((pod,))
        return False

    def fits(self) -> bool:
        return all(self._filtered(more)[0] for more in self._rounds())

    def refusal(self) -> Diagnosis:
        for more in self._rounds():
            passes, state, part, trace = self._filtered(more)
            if not passes:
                return self._filtering.diagnose(state, self._pod, part, trace)
        raise LookupError("the pod fits: there is no refusal")

    def _rounds(self) -> tuple[Sequence[Pod], ...]:
        """Once with those that were promised the node, who may never come, and once without."""
        return (self._promised, ()) if self._promised else ((),)

    def _filtered(self, more: Sequence[Pod]) -> tuple[bool, CycleState, Nodes, Trace]:
        """Can the pod come once these have, too? With what was asked about."""
        state, part = self._state, self._part(more)
        if more:
            state = state.clone()
            for pod in more:
                for plugin in self._extensions:
                    _tell(plugin.name, partial(plugin.add_pod, state, self._pod, pod, part))
        trace = Trace(part.valid)
        return bool(self._filtering.filter(state, self._pod, part, trace).item(0)), state, part, trace

    def _part(self, more: Sequence[Pod] = ()) -> Nodes:
        return what_if(self._nodes, self._row, more=more, fewer=tuple(self._gone.values()))


def _tell(name: str, tell: Callable[[], Status]) -> None:
    """Tell a plugin who comes or goes.

    Raises:
        PluginFailed: It can't do with that.
    """
    try:
        status = tell()
    except Exception as error:
        raise as_failure(error, name, "PreFilter") from error
    if not status.ok:
        raise PluginFailed(name, "PreFilter", status.message or status.code.value)
