"""Which pods every plugin treats alike on every node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replica.framework.interface import Relational, SigningPlugin
from replica.framework.status import as_failure

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from replica.api.pods import Pod
    from replica.framework.interface import Plugin


class Signatures:
    """Pods' signatures by a profile's plugins. Relational ones have no part in them: they are asked each time."""

    def __init__(self, plugins: Iterable[Plugin]) -> None:
        found = {plugin.name: plugin for plugin in plugins if not isinstance(plugin, Relational)}
        self._signing = tuple(plugin for plugin in found.values() if isinstance(plugin, SigningPlugin))
        self._complete = len(self._signing) == len(found)

    def of(self, pod: Pod) -> Hashable | None:
        """Equal for pods that are alike; None where one of the plugins can't say, of this pod or at all.

        Raises:
            PluginFailed: A plugin is broken.
        """
        if not self._complete:
            return None
        try:
            parts = tuple([plugin.signature(pod) for plugin in self._signing])
            alone = None in parts
        except Exception:  # noqa: BLE001  whose it is shows when they are asked one after the other
            return self._one_by_one(pod)
        return None if alone else parts

    def _one_by_one(self, pod: Pod) -> Hashable | None:
        parts = []
        for plugin in self._signing:
            try:
                part = plugin.signature(pod)
            except Exception as error:
                raise as_failure(error, plugin.name, "PreFilter") from error
            if part is None:
                return None
            parts.append(part)
        return tuple(parts)
