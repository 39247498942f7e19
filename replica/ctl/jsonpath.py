"""JSONPath as kubectl's users write it: `{.status.phase}`, `.spec.containers[0].image`, `[?(@.type=="Ready")]`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lockd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME: Final = re.compile(r"\.((?:\\.|[^.\[\]{}\\])+)")
_INDEX: Final = re.compile(r"\[(-?[0-9]{1,9}|\*)\]")
_QUOTED: Final = re.compile(r"\[(?:'([^']*)'|\"([^\"]*)\")\]")
_FILTER: Final = re.compile(
    r"\[\?\(\s*@((?:\.(?:\\.|[^.\[\]{}\\=!<>\s])+)+)\s*(==|!=)\s*(?:'([^']*)'|\"([^\"]*)\"|([^'\"\s)]+))\s*\)\]"
)
_ALL: Final = "*"


@dataclass(frozen=True, slots=True)
class _Where:
    """Items of a list whose field is (or is not) a text."""

    path: JsonPath
    equal: bool
    text: str


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A way into a document: names of fields, indexes of lists, `*`, and conditions on items."""

    steps: tuple[str | int | _Where, ...]

    @classmethod
    def parse(cls, text: str) -> JsonPath:
        """A path, with or without `{}` and its first dot.

        Raises:
            ConfigError: It can't be read.
        """
        path = text.strip()
        if path.startswith("{") and path.endswith("}"):
            path = path[1:-1].strip()
        path = path.removeprefix("$").removeprefix("@")
        if path and path[0] not in ".[":
            path = f".{path}"
        steps: list[str | int | _Where] = []
        at = 0
        while at < len(path):
            if path[at:] == ".":
                break
            if found := _NAME.match(path, at):
                steps.append(re.sub(r"\\(.)", r"\1", found[1]))
            elif found := _INDEX.match(path, at):
                steps.append(_ALL if found[1] == _ALL else int(found[1]))
            elif found := _QUOTED.match(path, at):
                steps.append(found[1] if found[1] is not None else found[2])
            elif found := _FILTER.match(path, at):
                value = next(each for each in found.groups()[2:] if each is not None)
                steps.append(_Where(cls.parse(found[1]), found[2] == "==", value))
            else:
                raise ConfigError(
                    (f'"{text}" is no JSONPath such as {{.status.phase}}: it can\'t be read at "{path[at:]}"',)
                )
            at = found.end()
        return cls(tuple(steps))

    def find(self, document: Any) -> list[Any]:
        """Everything that it leads to; nothing where a step leads nowhere."""
        found = [document]
        for step in self.steps:
            found = [each for value in found for each in _follow(step, value)]
        return found


def text_of(value: Any) -> str:
    """A value as JSONPath prints it: a text as it is, true and false in JSON's words."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _follow(step: str | int | _Where, value: Any) -> Iterator[Any]:
    if isinstance(step, _Where):
        for item in value if isinstance(value, list) else ():
            texts = [text_of(each) for each in step.path.find(item)]
            if (step.text in texts) == step.equal:
                yield item
    elif step == _ALL:
        yield from value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    elif isinstance(step, int):
        if isinstance(value, list) and -len(value) <= step < len(value):
            yield value[step]
    elif isinstance(value, dict) and step in value:
        yield value[step]
