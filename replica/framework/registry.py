"""Names of plugins and how to make them: the ones in the tree, and those of other packages by entry point."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from lockd.errors import ConfigError
from replica.framework.arguments import WithArguments

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from replica.framework.arguments import Arguments
    from replica.framework.interface import Factory, Handle, Plugin

ENTRY_POINTS = "lockd.replica.plugins"
"""The entry point group of out-of-tree plugins: name -> factory."""


class Registry:
    """Plugin name -> factory. Names are unique."""

    def __init__(self, factories: Mapping[str, Factory] | None = None) -> None:
        self._factories: dict[str, Factory | EntryPoint] = dict(factories or {})

    def __contains__(self, name: object) -> bool:
        return name in self._factories

    def __iter__(self) -> Iterator[str]:
        return iter(self._factories)

    def register(self, name: str, factory: Factory | EntryPoint) -> None:
        """Add one; what an entry point names is loaded when it is asked for.

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
            self.register(point.name, point)
        return self

    def arguments(self, name: str) -> type[Arguments] | None:
        """The class of a plugin's arguments; None for one that takes them as written.

        Raises:
            ConfigError: Unknown name, or an entry point that can't be loaded.
        """
        factory = self._factory(name)
        return factory.arguments if isinstance(factory, WithArguments) else None

    def make(self, name: str, args: Mapping[str, Any], handle: Handle) -> Plugin:
        """An instance of a plugin.

        Raises:
            ConfigError: Unknown name, arguments the plugin doesn't take, or an entry point that can't be loaded.
        """
        factory = self._factory(name)
        try:
            plugin = factory(args, handle)
        except ConfigError as error:
            raise ConfigError(tuple(f"plugin {name!r}: {problem}" for problem in error.problems)) from error
        except Exception as error:
            raise ConfigError((f"plugin {name!r} can't be made: {error!r}",)) from error
        if plugin.name != name:
            raise ConfigError((f"the plugin registered as {name!r} calls itself {plugin.name!r}: use one name",))
        return plugin

    def _factory(self, name: str) -> Factory:
        found = self._factories.get(name)
        if found is None:
            raise ConfigError((f"no plugin is named {name!r}: known are {', '.join(sorted(self._factories))}",))
        if not isinstance(found, EntryPoint):
            return found
        try:
            factory: Factory = found.load()
        except Exception as error:
            raise ConfigError((f"plugin {name!r} can't be loaded from {found.value}: {error!r}",)) from error
        if not callable(factory):
            raise ConfigError((f"plugin {name!r} can't be loaded: {found.value} is no factory",))
        self._factories[name] = factory
        return factory
