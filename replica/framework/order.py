"""The queue's order by somebody's plugin: what it raises must neither lose a pod nor end the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from component import logs
from replica.queue.pod import by_priority

if TYPE_CHECKING:
    from replica.framework.interface import QueueSortPlugin
    from replica.queue.pod import QueuedPod

_log = logs.get(__name__)


class Order:
    """Keys that fall back to priority and time where the plugin's can't be had or compared."""

    def __init__(self, plugin: QueueSortPlugin) -> None:
        self._plugin = plugin
        self._told = False

    def key(self, queued: QueuedPod) -> OrderKey:
        """What pods are compared by."""
        try:
            return OrderKey(self._plugin.sort_key(queued), by_priority(queued), self)
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            self.failed(error)
            return OrderKey(None, by_priority(queued), self)

    def failed(self, error: Exception) -> None:
        """Tell of the first failure: each comparison would be another."""
        if not self._told:
            _log.exception("plugin failed", error, plugin=self._plugin.name, point="QueueSort")
        self._told = True


class OrderKey:
    """One pod's key; smaller goes first. Equal ones leave it to who came first."""

    __slots__ = ("_fallback", "_key", "_order")

    def __init__(self, key: Any, fallback: tuple[int, float], order: Order) -> None:
        self._key = key
        self._fallback = fallback
        self._order = order

    def __lt__(self, other: OrderKey) -> bool:
        if self._key is not None and other._key is not None:
            try:
                return bool(self._key < other._key)
            except Exception as error:  # noqa: BLE001 - keys of somebody's plugin may compare anyhow
                self._order.failed(error)
        return self._fallback < other._fallback
