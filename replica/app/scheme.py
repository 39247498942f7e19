"""`KubeSchedulerConfiguration` v1: fields, defaults and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from component.strict import Seconds
from replica.extenders.config import ExtenderConfig, problems_together
from replica.framework.arguments import API_VERSION
from replica.framework.profile import DEFAULT_SCHEDULER

if TYPE_CHECKING:
    from collections.abc import Iterator

KIND: Final = "KubeSchedulerConfiguration"

LEASES: Final = "leases"
"""The one lock that is left."""

REMOVED_LOCKS: Final = ("endpoints", "configmaps", "endpointsleases", "configmapsleases")

_HIGHEST_WEIGHT: Final = 2**31 - 1


def lock_problem(lock: str) -> str | None:
    """What is wrong with a resource lock, with what to use instead; None for the one there is."""
    if lock in REMOVED_LOCKS:
        return f"{lock!r} was removed: use {LEASES!r}, and delete the old lock when all replicas do"
    return None if lock == LEASES else f"{lock!r} is no lock: use {LEASES!r}"


class LeaderElection(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Its durations and names are judged once the flags have had their say: by `lockd.config.ElectionConfig`."""

    leader_elect: bool = True
    lease_duration: Seconds = Seconds(15)
    renew_deadline: Seconds = Seconds(10)
    retry_period: Seconds = Seconds(2)
    resource_lock: str = LEASES
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


class ClientConnection(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How to reach an API server, of which there is none."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = ""
    qps: float = 50
    burst: int = 100


class PluginUse(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A plugin by its name; a weight of 0 stands for 1."""

    name: str
    weight: int = 0


class PluginSet(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What is said of one extension point."""

    enabled: tuple[PluginUse, ...] = ()
    disabled: tuple[PluginUse, ...] = ()

    def problems(self) -> Iterator[tuple[str, str]]:
        seen = set()
        for index, use in enumerate(self.enabled):
            at = f"enabled[{index}]"
            if not use.name or use.name == "*":
                yield f"{at}.name", f"{use.name!r} is no plugin: only disabled may hold *"
            elif use.name in seen:
                yield f"{at}.name", f"{use.name!r} is given twice"
            seen.add(use.name)
            if not 0 <= use.weight <= _HIGHEST_WEIGHT:
                yield f"{at}.weight", f"{use.weight} must be from 0 to {_HIGHEST_WEIGHT}"
        yield from ((f"disabled[{index}].name", "is empty") for index, use in enumerate(self.disabled) if not use.name)


class Plugins(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What is said of each extension point, and of all of them at once (`multiPoint`)."""

    multi_point: PluginSet = PluginSet()
    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()
    placement_feasible: PluginSet = PluginSet()
    pod_group_post_filter: PluginSet = PluginSet()

    def problems(self) -> Iterator[tuple[str, str]]:
        for point in ("placementGenerate", "placementScore", "placementFeasible", "podGroupPostFilter"):
            if self.at(point).enabled:
                yield f"{point}.enabled", "placements of whole groups are not built here: take its plugins out"

    def at(self, point: str) -> PluginSet:
        """What is said of a point, by its name in the document."""
        names = {field.encode_name: field.name for field in msgspec.structs.fields(self)}
        said: PluginSet = getattr(self, names[point])
        return said


class PluginConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is said to one plugin; its own class reads `args`."""

    name: str
    args: Any = None


class Profile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One `schedulerName` and its plugins."""

    scheduler_name: str = ""
    percentage_of_nodes_to_score: int | None = None
    percentage_of_placements_to_score: int | None = None
    plugins: Plugins = Plugins()
    plugin_config: tuple[PluginConfig, ...] = ()

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from _percentage("percentageOfNodesToScore", self.percentage_of_nodes_to_score)
        yield from _percentage("percentageOfPlacementsToScore", self.percentage_of_placements_to_score)
        seen = set()
        for index, entry in enumerate(self.plugin_config):
            at = f"pluginConfig[{index}]"
            if not entry.name:
                yield f"{at}.name", "must not be empty"
            elif entry.name in seen:
                yield f"{at}.name", f"{entry.name!r} is given twice"
            seen.add(entry.name)
            if entry.args is not None and not isinstance(entry.args, dict):
                yield f"{at}.args", "must be an object"


class Configuration(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The whole of it. `apiVersion` and `kind` are judged before the rest is read."""

    api_version: str = API_VERSION
    kind: str = KIND
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection | None = None
    parallelism: int | None = None
    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: int | None = None
    percentage_of_placements_to_score: int | None = None
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    delay_cache_until_active: bool = False
    extenders: tuple[ExtenderConfig, ...] = ()
    profiles: tuple[Profile, ...] = ()

    def problems(self) -> Iterator[tuple[str, str]]:
        if (problem := lock_problem(self.leader_election.resource_lock)) is not None:
            yield "leaderElection.resourceLock", problem
        if self.parallelism is not None and self.parallelism < 1:
            yield "parallelism", f"{self.parallelism} must be 1 or more"
        if self.client_connection is not None and self.client_connection.burst < 0:
            yield "clientConnection.burst", f"{self.client_connection.burst} must not be negative"
        yield from _percentage("percentageOfNodesToScore", self.percentage_of_nodes_to_score)
        yield from _percentage("percentageOfPlacementsToScore", self.percentage_of_placements_to_score)
        initial, longest = self.pod_initial_backoff_seconds, self.pod_max_backoff_seconds
        if initial < 1:
            yield "podInitialBackoffSeconds", f"{initial} must be 1 or more"
        if longest < initial:
            yield "podMaxBackoffSeconds", f"{longest} must not be less than podInitialBackoffSeconds ({initial})"
        yield from problems_together(self.extenders)
        yield from self._name_problems()

    def _name_problems(self) -> Iterator[tuple[str, str]]:
        seen: dict[str, int] = {}
        for index, profile in enumerate(self.profiles):
            at, name = f"profiles[{index}].schedulerName", profile.scheduler_name
            if not name and len(self.profiles) > 1:
                yield at, "is required where there are several profiles"
            elif name in seen:
                yield at, f"{name!r} is the name of profiles[{seen[name]}] too"
            seen.setdefault(name, index)

    def completed(self) -> Configuration:
        """With a profile if there is none, and a name for the only one."""
        profiles = self.profiles or (Profile(),)
        if not profiles[0].scheduler_name:
            profiles = (msgspec.structs.replace(profiles[0], scheduler_name=DEFAULT_SCHEDULER), *profiles[1:])
        return msgspec.structs.replace(self, profiles=profiles)


def _percentage(field: str, value: int | None) -> Iterator[tuple[str, str]]:
    if value is not None and not 0 <= value <= 100:
        yield field, f"{value} must be from 0 to 100"
