"""What happened in the cluster, and whether it may help a pod that a plugin refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntFlag, auto
from typing import TYPE_CHECKING, Any

import msgspec

from component import logs
from component.clock import SystemClock
from component.metrics import exponential_buckets
from component.metrics.histogram import histogram

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from component.clock import Clock
    from component.metrics.histogram import Histogram

_log = logs.get(__name__)

HINT_BUCKETS = exponential_buckets(0.00001, 1.5, 20)


class Resource(Enum):
    """What an event is about."""

    POD = "Pod"
    """A pod that waits: its own change may help it."""
    ASSIGNED_POD = "AssignedPod"
    """A pod that has a node."""
    NODE = "Node"
    NAMESPACE = "Namespace"
    PRIORITY_CLASS = "PriorityClass"
    POD_GROUP = "PodGroup"
    POD_DISRUPTION_BUDGET = "PodDisruptionBudget"
    ANY = "*"


class Action(IntFlag):
    """What was done to it."""

    ADD = auto()
    DELETE = auto()
    UPDATE_NODE_ALLOCATABLE = auto()
    UPDATE_NODE_LABEL = auto()
    UPDATE_NODE_TAINT = auto()
    UPDATE_NODE_CONDITION = auto()
    UPDATE_NODE_ANNOTATION = auto()
    UPDATE_POD_LABEL = auto()
    UPDATE_POD_SCALE_DOWN = auto()
    UPDATE_POD_TOLERATIONS = auto()
    UPDATE_POD_GATES = auto()
    UPDATE_OTHER = auto()
    UPDATE_NODE = (
        UPDATE_NODE_ALLOCATABLE | UPDATE_NODE_LABEL | UPDATE_NODE_TAINT | UPDATE_NODE_CONDITION | UPDATE_NODE_ANNOTATION
    )
    UPDATE_POD = UPDATE_POD_LABEL | UPDATE_POD_SCALE_DOWN | UPDATE_POD_TOLERATIONS | UPDATE_POD_GATES
    UPDATE = UPDATE_NODE | UPDATE_POD | UPDATE_OTHER
    ALL = ADD | DELETE | UPDATE


class ClusterEvent(msgspec.Struct, frozen=True, gc=False, cache_hash=True):
    """Something that happened, or, in a registration, the happenings that a plugin asks for.

    Attributes:
        label: As `scheduler_queue_incoming_pods_total` has it in its `event` label.
    """

    resource: Resource
    action: Action
    label: str = ""

    def __str__(self) -> str:
        return self.label or f"{self.resource.value}{self.action.name}"

    def covers(self, event: ClusterEvent) -> bool:
        """Is `event` one of those that this one stands for?"""
        same = Resource.ANY in (self.resource, event.resource) or self.resource is event.resource
        return same and bool(self.action & event.action)


POD_ADD = ClusterEvent(Resource.POD, Action.ADD, "PodAdd")
POD_UPDATE = ClusterEvent(Resource.POD, Action.UPDATE_POD | Action.UPDATE_OTHER, "PodUpdate")
NODE_ADD = ClusterEvent(Resource.NODE, Action.ADD, "NodeAdd")
NODE_UPDATE = ClusterEvent(Resource.NODE, Action.UPDATE_NODE, "NodeUpdate")
ASSIGNED_POD_ADD = ClusterEvent(Resource.ASSIGNED_POD, Action.ADD, "AssignedPodAdd")
ASSIGNED_POD_UPDATE = ClusterEvent(Resource.ASSIGNED_POD, Action.UPDATE_POD, "AssignedPodUpdate")
ASSIGNED_POD_DELETE = ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE, "AssignedPodDelete")
POD_GROUP_UPDATE = ClusterEvent(Resource.POD_GROUP, Action.ADD | Action.UPDATE_OTHER, "PodGroupUpdate")
PRIORITY_CLASS_CHANGE = ClusterEvent(Resource.PRIORITY_CLASS, Action.ALL, "PriorityClassChange")
FAILURE = ClusterEvent(Resource.ANY, Action.ALL, "ScheduleAttemptFailure")
BACKOFF_COMPLETE = ClusterEvent(Resource.ANY, Action.ALL, "BackoffComplete")
FORCE_ACTIVATE = ClusterEvent(Resource.ANY, Action.ALL, "ForceActivate")
UNSCHEDULABLE_TIMEOUT = ClusterEvent(Resource.ANY, Action.ALL, "UnschedulableTimeout")


class Hint(Enum):
    """A plugin's opinion on whether an event may make a pod schedulable."""

    QUEUE = "Queue"
    SKIP = "QueueSkip"


@dataclass(frozen=True, slots=True)
class Registration:
    """A plugin asks to be heard when `event` happens.

    Attributes:
        hint: Called with the pod refused, the object before and the object after (either may be None); without one
            the event always moves the pod. A hint that raises counts as QUEUE: a needless attempt is cheaper than a
            pod that sleeps through its chance.
    """

    plugin: str
    event: ClusterEvent
    hint: Callable[[Any, Any, Any], Hint] | None = None


@dataclass(frozen=True, slots=True)
class Hints:
    """All registrations of a profile's plugins.

    A plugin that registered nothing is taken to be helped by everything: the default is to move.
    """

    by_plugin: Mapping[str, tuple[Registration, ...]] = field(default_factory=dict)
    clock: Clock = field(default_factory=SystemClock)

    @classmethod
    def of(cls, registrations: Iterable[Registration]) -> Hints:
        found: dict[str, list[Registration]] = {}
        for registration in registrations:
            found.setdefault(registration.plugin, []).append(registration)
        return cls({plugin: tuple(entries) for plugin, entries in found.items()})

    def may_help(
        self, event: ClusterEvent, pod: Any, refused_by: Iterable[str], *, old: Any = None, new: Any = None
    ) -> bool:
        """May `event` make a pod schedulable that these plugins refused? True when none is named."""
        named = False
        for plugin in refused_by:
            named = True
            registrations = self.by_plugin.get(plugin)
            if registrations is None:
                return True
            for registration in registrations:
                if registration.event.covers(event) and self._ask(registration, event, pod, (old, new)) is Hint.QUEUE:
                    return True
        return not named

    def concern(self, event: ClusterEvent, refused_by: Iterable[str]) -> bool:
        """Could `event` help any pod that these plugins refused, before any hint is asked?"""
        named = False
        for plugin in refused_by:
            named = True
            if plugin not in self.by_plugin or self.registered(event, plugin):
                return True
        return not named

    def registered(self, event: ClusterEvent, plugin: str) -> bool:
        """Did this plugin itself ask for `event`?"""
        return any(registration.event.covers(event) for registration in self.by_plugin.get(plugin, ()))

    def _ask(self, registration: Registration, event: ClusterEvent, pod: Any, change: tuple[Any, Any]) -> Hint:
        if registration.hint is None:
            return Hint.QUEUE
        began = self.clock.now()
        try:
            hint = registration.hint(pod, *change)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything, and none of it may keep the pod asleep
            _log.exception("queueing hint failed", error, plugin=registration.plugin, event=str(registration.event))
            hint, told = Hint.QUEUE, "Error"
        else:
            told = hint.value
        _durations().record(self.clock.now() - began, registration.plugin, str(event), told)
        return hint


def _durations() -> Histogram:
    return histogram(
        "scheduler_queueing_hint_execution_duration",
        unit="s",
        labels=("plugin", "event", "hint"),
        buckets=HINT_BUCKETS,
        description="What a plugin takes to say whether an event may help a pod",
    )
