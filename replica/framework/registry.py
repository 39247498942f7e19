"""Names of plugins and how to make them: the ones in the tree, and those of other packages by entry point."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from lockd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from replica.framework.interface import Factory, Handle, Plugin

ENTRY_POINTS = "lockd.replica.plugins"
"""The entry point group of out-of-tree plugins: name -> factory."""


class Registry:
    """Plugin name -> factory. Names are unique."""

    def __init__(self, factories: Mapping[str, Factory] | None = None) -> None:
        self._factories: dict[str, Factory] = dict(factories or {})

    def __contains__(self, name: object) -> bool:
        return name in self._factories

    def __iter__(self) -> Iterator[str]:
        return iter(self._factories)

    def register(self, name: str, factory: Factory) -> None:
        """Add one.

        Raises:
            ConfigError: The name is taken.
        """
        if name in self._factories:
            raise ConfigError((f"plugin {name!r} is registered twice: rename one of the two",))
        self._factories[name] = factory

    def discover(self) -> Registry:
        """Add what installed packages offer under `lockd.replica.plugins`; their code is loaded when used.

        Raises:
            ConfigError: A name is taken.
        """
        for point in entry_points(group=ENTRY_POINTS):
            self.register(point.name, _lazy(point.name, point.load))
        return self

    def make(self, name: str, args: Mapping[str, Any], handle: Handle) -> Plugin:
        """An instance of a plugin.

        Raises:
            ConfigError: Unknown name, arguments the plugin doesn't take, or an entry point that can't be loaded.
        """
        factory = self._factories.get(name)
        if factory is None:
            raise ConfigError((f"no plugin is named {name!r}: known are {', '.join(sorted(self._factories))}",))
        plugin = factory(args, handle)
        if plugin.name != name:
            raise ConfigError((f"the plugin registered as {name!r} calls itself {plugin.name!r}: use one name",))
        return plugin


def _lazy(name: str, load: Any) -> Factory:
    def factory(args: Mapping[str, Any], handle: Handle) -> Plugin:
        try:
            made: Plugin = load()(args, handle)
        except ConfigError:
            raise
        except Exception as error:
            raise ConfigError((f"plugin {name!r} can't be loaded: {error!r}",)) from error
        return made

    return factory
