"""Options that several commands share: given to a command as one, and handed on in the form that it wants."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

F = TypeVar("F", bound="Callable[..., Any]")


def with_options(
    command: F,
    options: Sequence[Callable[[Any], Any]],
    take: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> F:
    """A command that has options, which its help tells in this order.

    Args:
        command: What click is to make a command of.
        options: Decorators, as `click.option` gives them.
        take: Gets all values of a call by name, takes those out that the command is not to get, and gives those that
            it gets in their place. What it raises the command raises.
    """
    decorated: Any = command if take is None else _called(command, take)
    for option in reversed(options):
        decorated = option(decorated)
    result: F = decorated
    return result


def _called(command: F, take: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[..., Any]:
    @functools.wraps(command)
    def called(*args: Any, **values: Any) -> Any:
        made = take(values)
        return command(*args, **made, **values)

    return called
