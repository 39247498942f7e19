"""PreEnqueue: what keeps pods out of the active queue, and which of them go together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from component import logs
from replica.framework.gang import GroupingPlugin
from replica.framework.status import as_failure, as_status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replica.api.pods import Pod
    from replica.framework.gang import Gang
    from replica.framework.interface import PreEnqueuePlugin

_log = logs.get(__name__)


class Gates:
    """A profile's PreEnqueue plugins.

    Attributes:
        grouping: The names of those that know of gangs.
    """

    def __init__(self, plugins: Sequence[PreEnqueuePlugin]) -> None:
        self._plugins = tuple(plugins)
        self._groupings = tuple(plugin for plugin in plugins if isinstance(plugin, GroupingPlugin))
        self.grouping = tuple(plugin.name for plugin in self._groupings)

    def by(self, pod: Pod) -> str:
        """The plugin that keeps a pod out, or ""; a broken one keeps it out, too, instead of breaking the queue."""
        for plugin in self._plugins:
            try:
                if as_status(plugin.pre_enqueue(pod)).ok:
                    continue
            except Exception as error:  # noqa: BLE001  a plugin may raise anything, and it keeps one pod out alone
                _log.exception("plugin failed", error, plugin=plugin.name, point="PreEnqueue", pod=pod.path)
            return plugin.name
        return ""

    def gang(self, pod: Pod) -> Gang | None:
        """The gang that a pod is of, as the first plugin says that knows; one that fails ends the pod's cycle.

        Raises:
            PluginFailed: A plugin is broken.
        """
        for plugin in self._groupings:
            try:
                if (found := plugin.gang(pod)) is not None:
                    return found
            except Exception as error:
                raise as_failure(error, plugin.name, "PreEnqueue") from error
        return None
