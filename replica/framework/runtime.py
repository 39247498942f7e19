"""A profile at work: its plugins made, and each extension point run in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from component import logs
from lockd.errors import ConfigError
from replica.framework.adapter import Weighted
from replica.framework.disruptions import PostFilterResult
from replica.framework.evaluation import Evaluator
from replica.framework.extenders import Extenders
from replica.framework.gates import Gates
from replica.framework.interface import EnqueueExtensions
from replica.framework.making import plugins_of
from replica.framework.metrics import FrameworkMetrics, timed
from replica.framework.order import Order
from replica.framework.profile import Point
from replica.framework.promises import Promises
from replica.framework.sampling import Sampling
from replica.framework.signatures import Signatures
from replica.framework.status import SUCCESS, Code, PluginFailed, Status, as_failure, as_status, unschedulable
from replica.framework.trial import FilterTrials
from replica.framework.waiting import LONGEST_PERMIT_WAIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from replica.api.pods import Pod
    from replica.cache.nodes import Nodes
    from replica.framework.cycle_state import CycleState
    from replica.framework.diagnosis import Diagnosis
    from replica.framework.interface import (
        BindPlugin,
        Handle,
        PermitPlugin,
        Plugin,
        PostBindPlugin,
        PostFilterPlugin,
        PreBindPlugin,
        PreEnqueuePlugin,
        QueueSortPlugin,
        ReservePlugin,
    )
    from replica.framework.placement import Placement
    from replica.framework.profile import Profile
    from replica.framework.registry import Registry
    from replica.queue.hints import ClusterEvent, Registration
    from replica.queue.pod import QueuedPod

P = TypeVar("P", bound="Plugin")

_log = logs.get(__name__)


class Runtime:
    """One profile's plugins.

    Every method that runs plugins turns what they raise into `PluginFailed` or a status, so that no plugin ends the
    loop.

    Attributes:
        gated_by: `Gates.by`.
        gang: `Gates.gang`.
        grouping: `Gates.grouping`.
        signature: `Signatures.of`.

    Raises:
        ConfigError: With every problem: unknown plugins, bad arguments, no or two QueueSort plugins, no Bind plugin.
    """

    def __init__(
        self, profile: Profile, registry: Registry, handle: Handle, extenders: Extenders | None = None
    ) -> None:
        self.scheduler_name = profile.scheduler_name
        self._handle = handle
        self._extenders = extenders if extenders is not None else Extenders()
        self._metrics = FrameworkMetrics(profile.scheduler_name, handle.clock)
        self._plugins = plugins_of(profile, registry, handle)
        problems: list[str] = []
        weights: dict[str, int] = {}

        def at(point: Point) -> list[Any]:
            found = []
            for use in profile.uses(point, lambda name: point.served_by(self._plugins[name])):
                if point.served_by(self._plugins[use.name]):
                    found.append(self._plugins[use.name])
                    if point is Point.SCORE:  # what is said of other points has no weight
                        weights[use.name] = use.weight or 1
                else:
                    problems.append(f"plugins.{point.value}: plugin {use.name!r} has no {point.value}: take it out")
            return found

        pre_enqueues = cast("list[PreEnqueuePlugin]", at(Point.PRE_ENQUEUE))
        gates = Gates(pre_enqueues)
        self.gated_by, self.gang, self.grouping = gates.by, gates.gang, gates.grouping
        sorts = cast("list[QueueSortPlugin]", at(Point.QUEUE_SORT))
        self._post_filters = cast("list[PostFilterPlugin]", at(Point.POST_FILTER))
        self._reserves = cast("list[ReservePlugin]", at(Point.RESERVE))
        self._permits = cast("list[PermitPlugin]", at(Point.PERMIT))
        self._pre_binds = cast("list[PreBindPlugin]", at(Point.PRE_BIND))
        self._binds = cast("list[BindPlugin]", at(Point.BIND))
        self._post_binds = cast("list[PostBindPlugin]", at(Point.POST_BIND))
        if len(sorts) != 1:
            problems.append(f"exactly one queueSort plugin must be enabled, not {len(sorts)}")
        if not self._binds:
            problems.append("at least one bind plugin must be enabled")
        pre_filters = at(Point.PRE_FILTER)
        filters = at(Point.FILTER)
        scores = at(Point.SCORE)
        promises = Promises(handle.nominator, handle.priority, handle.classes)
        self._evaluator = Evaluator(
            pre_filters=pre_filters,
            filters=filters,
            pre_scores=at(Point.PRE_SCORE),
            scores=[Weighted(plugin, weights[plugin.name]) for plugin in scores],
            sampling=Sampling(profile.percentage),
            promises=promises,
            extenders=self._extenders,
            draw=handle.draw,
            metrics=self._metrics,
        )
        if problems:
            raise ConfigError(tuple(f"profile {profile.scheduler_name!r}: {text}" for text in problems))
        signing = (*pre_filters, *filters, *scores, *self._reserves, *self._permits, *self._pre_binds)
        self.signature = Signatures(signing).of
        FilterTrials(self._evaluator, promises, handle, self.signature).equip(self._post_filters)
        self.queue_sort = sorts[0]
        # Those in the tree give tuples; others are not trusted to give what compares.
        trusted = type(sorts[0]).__module__.startswith("replica.plugins.")
        self._sort_key: Callable[[QueuedPod], Any] = sorts[0].sort_key if trusted else Order(sorts[0]).key
        self._refusers = {
            plugin.name
            for plugin in (
                *filters,
                *pre_filters,
                *pre_enqueues,
                *self._reserves,
                *self._permits,
                *self._pre_binds,
            )
        }

    # --- the queue's questions

    def sort_key(self, queued: QueuedPod) -> Any:
        """QueueSort."""
        return self._sort_key(queued)

    def registrations(self) -> tuple[Registration, ...]:
        """Which events may help a pod that was refused: what the plugins registered."""
        return tuple(
            registration
            for plugin in self._plugins.values()
            if isinstance(plugin, EnqueueExtensions)
            for registration in plugin.events_to_register()
        )

    def wants(self, event: ClusterEvent) -> bool:
        """May any plugin ask for `event`? Who can refuse pods and registers nothing (extenders, too) asks for all."""
        registrations = self.registrations()
        named = {registration.plugin for registration in registrations}
        if len(self._extenders) or any(name not in named for name in self._refusers):
            return True
        return any(registration.event.covers(event) for registration in registrations)

    # --- the scheduling cycle

    def place(self, state: CycleState, pod: Pod, nodes: Nodes) -> Placement | Diagnosis:
        """PreFilter to the choice of a node.

        Raises:
            PluginFailed: A plugin is broken.
        """
        return self._evaluator.place(state, pod, nodes, self.signature(pod))

    def post_filter(self, state: CycleState, pod: Pod, nodes: Nodes, diagnosis: Diagnosis) -> PostFilterResult:
        """The first PostFilter plugin that makes room, else what the last one said.

        Raises:
            PluginFailed: A plugin is broken.
        """
        result = PostFilterResult(unschedulable())
        began = self._metrics.begin(state)
        for plugin in self._post_filters:
            start = self._metrics.begin(state)
            try:
                result = plugin.post_filter(state, pod, nodes, diagnosis)
                as_status(result.status)
            except Exception as error:
                raise as_failure(error, plugin.name, "PostFilter") from error
            self._metrics.plugin(plugin.name, "PostFilter", result.status.code.value, start)
            if result.status.ok or not result.status.rejected:
                break
        if self._post_filters:
            self._metrics.point("PostFilter", result.status.code.value, began)
        return result

    @timed("Reserve")
    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """All Reserve plugins; when one fails all are undone."""
        for plugin in self._reserves:
            status = self._ask(plugin, "Reserve", state, lambda each: each.reserve(state, pod, node_name))
            if not status.ok:
                self.unreserve(state, pod, node_name)
                return status
        return SUCCESS

    @timed("Unreserve")
    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Undo Reserve, in reverse."""
        for plugin in reversed(self._reserves):
            self._ask(plugin, "Unreserve", state, lambda each: _done(each.unreserve(state, pod, node_name)))

    @property
    def permits(self) -> bool:
        """Is there any Permit plugin?"""
        return bool(self._permits)

    def permit_waited(self, status: Status, seconds: float) -> None:
        """A pod that Permit held was allowed or rejected after so many seconds."""
        self._metrics.permit_wait(status.code.value, seconds)

    @timed("Permit")
    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """All Permit plugins: success, the first refusal, or Wait, and then the pod is among those waiting."""
        deadlines: dict[str, float] = {}
        now = self._handle.clock.now() if self._permits else 0.0
        for plugin in self._permits:
            seconds = 0.0

            def ask(each: PermitPlugin) -> Status:
                nonlocal seconds
                status, seconds = each.permit(state, pod, node_name)
                seconds = float(seconds)
                return status

            status = self._ask(plugin, "Permit", state, ask)
            if status.code is Code.WAIT:
                deadlines[plugin.name] = now + min(seconds, LONGEST_PERMIT_WAIT)
            elif not status.ok:
                return status
        if not deadlines:
            return SUCCESS
        self._handle.waiting.hold(pod, node_name, deadlines)
        return Status(Code.WAIT, (f"waiting on {', '.join(deadlines)}",), next(iter(deadlines)))

    # --- the binding cycle

    @property
    def binds_at_once(self) -> bool:
        """No PreBind plugin, nor an extender that binds: the binding cycle takes no time before the write."""
        return not self._pre_binds and not self._extenders.may_bind

    @timed("PreBind")
    def pre_bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """All PreBind plugins, to the first that fails. They may block."""
        for plugin in self._pre_binds:
            status = self._ask(plugin, "PreBind", state, lambda each: each.pre_bind(state, pod, node_name))
            if not status.ok:
                return status
        return SUCCESS

    @timed("Bind")
    def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status:
        """The extender that binds such pods, else the first Bind plugin that doesn't skip."""
        if len(self._extenders) and (agreed := self._extenders.bind(pod, node_name)) is not None:
            return agreed
        for plugin in self._binds:
            status = self._ask(plugin, "Bind", state, lambda each: each.bind(state, pod, node_name))
            if status.code is not Code.SKIP:
                return status
        return Status(Code.ERROR, ("every bind plugin skipped the pod: enable DefaultBinder",))

    @timed("PostBind")
    def post_bind(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """All PostBind plugins; what they raise changes nothing any more."""
        for plugin in self._post_binds:
            self._ask(plugin, "PostBind", state, lambda each: _done(each.post_bind(state, pod, node_name)))

    def _ask(self, plugin: P, point: str, state: CycleState, call: Any) -> Status:
        """What a plugin says, in its name; what it raises as an error status."""
        start = self._metrics.begin(state)
        try:
            status = as_status(call(plugin))
        except Exception as error:  # noqa: BLE001  a plugin may raise anything; it ends this pod's cycle alone
            failed = error if isinstance(error, PluginFailed) else as_failure(error, plugin.name, point)
            status = Status(Code.ERROR, (str(failed),), plugin.name, error)
        self._metrics.plugin(plugin.name, point, status.code.value if start else "", start)
        return status if status.ok else status.by(plugin.name)


def _done(_nothing: None) -> Status:
    return SUCCESS
