"""Which pods every plugin treats alike on every node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from replica.framework.interface import Relational, SigningPlugin, SpecSigningPlugin
from replica.framework.status import as_failure

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from replica.api.pods import Pod
    from replica.api.podspec import PodSpec
    from replica.framework.interface import Plugin


KEPT: Final = 4096
"""Specifications remembered."""


class Signatures:
    """Pods' signatures by a profile's plugins. Relational ones have no part in them: they are asked each time."""

    def __init__(self, plugins: Iterable[Plugin]) -> None:
        found = {plugin.name: plugin for plugin in plugins if not isinstance(plugin, Relational)}
        self._signing = tuple(plugin for plugin in found.values() if isinstance(plugin, SigningPlugin))
        self._complete = len(self._signing) == len(found)
        self._by_spec = tuple(each for each in self._signing if isinstance(each, SpecSigningPlugin) and each.signs_spec)
        self._others = tuple(each for each in self._signing if each not in self._by_spec)
        self._known: dict[PodSpec, object | None] = {}
        self._tokens: dict[Hashable, object] = {}

    def of(self, pod: Pod) -> Hashable | None:
        """Equal for pods that are alike; None where one of the plugins can't say, of this pod or at all.

        Raises:
            PluginFailed: A plugin is broken.
        """
        if not self._complete:
            return None
        try:
            spec = pod.spec
            token = self._known[spec] if spec in self._known else self._learn(pod)
            parts = (token, *[plugin.signature(pod) for plugin in self._others])
            alone = None in parts
        except Exception:  # noqa: BLE001  whose it is shows when they are asked one after the other
            return self._one_by_one(pod)
        return None if alone else parts

    def _learn(self, pod: Pod) -> object | None:
        """What stands for all that is said of its specification: the same object if the same is said."""
        if len(self._known) >= KEPT:
            self._known.clear()
            self._tokens.clear()
        parts = tuple([plugin.signature(pod) for plugin in self._by_spec])
        token = self._known[pod.spec] = None if None in parts else self._tokens.setdefault(parts, object())
        return token

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
