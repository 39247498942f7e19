"""What configuration says to one plugin: a struct per plugin, decoded strictly before the plugin is made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

from component import strict
from lockd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from replica.framework.interface import Handle, Plugin

API_VERSION: Final = "kubescheduler.config.k8s.io/v1"


class Arguments(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The base of the classes named `<Plugin>Args`. Every field has the default in force where nothing is said."""

    def problems(self) -> Iterable[tuple[str, str]]:
        """What fields of the right type can't mean: the field's path within this, and one line about it."""
        return ()


A = TypeVar("A", bound=Arguments)


def decode(document: Mapping[str, Any], arguments: type[A]) -> A:
    """The arguments in `pluginConfig[].args`; `kind`, which is the class's name, and `apiVersion` may be left out.

    Raises:
        ConfigError: With every problem, each beginning with its path within the arguments.
    """
    problems = []
    kind, version = document.get("kind") or arguments.__name__, document.get("apiVersion") or API_VERSION
    if kind != arguments.__name__:
        problems.append(f"kind: {strict.show(kind)} must be {arguments.__name__}")
    if version != API_VERSION:
        problems.append(f"apiVersion: {strict.show(version)} must be {API_VERSION}")
    fields = {field: value for field, value in document.items() if field not in {"kind", "apiVersion"}}
    try:
        found = strict.decode(fields, arguments)
    except strict.Malformed as error:
        raise ConfigError((*problems, *error.problems)) from error
    if problems:
        raise ConfigError(tuple(problems))
    return found


def encode(arguments: Arguments) -> dict[str, Any]:
    """Arguments as `decode` reads them, every default said."""
    return {"apiVersion": API_VERSION, "kind": type(arguments).__name__, **strict.encode(arguments)}


class WithArguments(Generic[A]):
    """A plugin's factory that takes arguments of a class of its own.

    The configuration is checked by that class while it is read, and `--write-config-to` and `/configz` show what it
    comes to; a factory that is a plain function gets the mapping as written and raises ConfigError itself.

    Args:
        arguments: The class.
        make: Makes the plugin.
    """

    def __init__(self, arguments: type[A], make: Callable[[A, Handle], Plugin]) -> None:
        self.arguments = arguments
        self._make = make

    def __call__(self, args: Mapping[str, Any], handle: Handle) -> Plugin:
        """Decode, then make.

        Raises:
            ConfigError: As `decode`.
        """
        return self._make(decode(args, self.arguments), handle)
