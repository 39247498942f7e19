"""Which objects a command line names: `pods a b`, `pod/a node/b`, `pods,nodes`, and those that labels select."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lockd.errors import ConfigError
from replica.api.kinds import KINDS, kind_for
from replica.api.selectors import SelectorError, compile_selector, parse_selector
from replica.ctl.fields import FieldSelector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from replica.api.kinds import Kind


@dataclass(frozen=True, slots=True)
class Target:
    """Objects of a kind: those with these names, or all of them (none)."""

    kind: Kind
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """What a command line names.

    Attributes:
        matches: A predicate on labels, None without a selector; with one, no target has names.
        fields: The same for fields.
    """

    targets: tuple[Target, ...]
    matches: Callable[[Mapping[str, str]], bool] | None = None
    fields: FieldSelector | None = None

    @property
    def single(self) -> bool:
        """Is it one object by name?"""
        return len(self.targets) == 1 and len(self.targets[0].names) == 1


def select(
    words: Sequence[str], selector: str | None = None, *, everywhere: bool = False, fields: str | None = None
) -> Selection:
    """What words and a selector name.

    Args:
        everywhere: In all namespaces, so that no object of a namespace can be named.

    Raises:
        ConfigError: They name nothing that there can be.
    """
    targets = parse_targets(words)
    named = [target for target in targets if target.names]
    if named and (selector is not None or fields is not None):
        raise ConfigError(("a selector can't be given with names",))
    if everywhere and any(target.kind.namespaced for target in named):
        raise ConfigError(("an object can't be named across all namespaces: give -n NAMESPACE",))
    chosen = FieldSelector.parse(fields, [target.kind for target in targets]) if fields is not None else None
    if selector is None:
        return Selection(targets, None, chosen)
    try:
        return Selection(targets, compile_selector(parse_selector(selector)), chosen)
    except SelectorError as error:
        raise ConfigError((str(error),)) from error


def parse_targets(words: Sequence[str]) -> tuple[Target, ...]:
    """What the words of a command line name, in their order.

    Raises:
        ConfigError: No kind is named, or one that there isn't.
    """
    if not words:
        raise ConfigError((f"name a resource type: one of {_known()}",))
    if "/" in words[0]:
        return tuple(_slashed(word) for word in words)
    kinds = tuple(_kind(word) for word in words[0].split(","))
    names = tuple(dict.fromkeys(words[1:]))
    for name in names:
        if "/" in name or not name:
            raise ConfigError((f'"{name}" is no name: after a resource type it is not empty and has no "/"',))
    return tuple(Target(kind, names) for kind in kinds)


def _slashed(word: str) -> Target:
    kind, _, name = word.partition("/")
    if not name or "/" in name:
        raise ConfigError((f'"{word}" is not TYPE/NAME, such as pod/web-1',))
    return Target(_kind(kind), (name,))


def _kind(word: str) -> Kind:
    kind = kind_for(word)
    if kind is None:
        raise ConfigError((f'there is no resource type "{word}": use one of {_known()}',))
    return kind


def _known() -> str:
    return ", ".join(sorted(kind.plural for kind in KINDS))
