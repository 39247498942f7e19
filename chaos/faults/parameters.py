"""Parameters of faults: read from YAML or a command line into a frozen dataclass, with one line for each mistake."""

from __future__ import annotations

import dataclasses
import difflib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

from component.durations import format_duration, parse_duration
from lockd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Form:
    """How a parameter is written.

    Attributes:
        parse: Its value from what YAML or a command line gave; a ValueError has one clear line.
        schema: Its JSON Schema.
    """

    parse: Callable[[Any], Any]
    schema: Mapping[str, Any]


def _seconds(value: Any) -> float:
    if isinstance(value, str):
        negative = value.strip().startswith("-")
        seconds = parse_duration(value.strip().removeprefix("-"))
        return -seconds if negative else seconds
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise ValueError(f"{value!r} is no duration: write one such as 20s, or seconds")


def _positive_seconds(value: Any) -> float:
    seconds = _seconds(value)
    if seconds < 0:
        raise ValueError(f"{format_duration(seconds)} is negative: write a duration such as 20s")
    return seconds


def _count(value: Any) -> int:
    number = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
    if not isinstance(number, int) or isinstance(number, bool) or number < 0:
        raise ValueError(f"{value!r} is no number: write a whole one, 0 or more")
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError(f"{value!r} is no text")
    return value


_DURATION: Final = {"anyOf": [{"type": "number"}, {"type": "string"}]}
SECONDS: Final = Form(_positive_seconds, _DURATION)
SIGNED_SECONDS: Final = Form(_seconds, _DURATION)
COUNT: Final = Form(_count, {"type": "integer", "minimum": 0})
TEXT: Final = Form(_text, {"type": "string", "minLength": 1})


def choice(*words: str) -> Form:
    """One of a few words."""

    def parse(value: Any) -> str:
        if value not in words:
            raise ValueError(f"{value!r} is none of {', '.join(words)}{like(str(value), words)}")
        return str(value)

    return Form(parse, {"enum": list(words)})


def parameter(written: Form, default: Any, *, what: str, leading: bool = False) -> Any:
    """A field of a fault.

    Args:
        what: It is, one line.
        leading: On a command line the fault's own flag has it as its value.
    """
    return dataclasses.field(default=default, metadata={"form": written, "what": what, "leading": leading})


def build(cls: type[T], named: str, given: Mapping[str, Any]) -> T:
    """A fault from its parameters as they were written; `-` and `_` are the same in their names.

    Raises:
        ConfigError: Has every mistake, one line each, that begins with `named`.
    """
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]  # faults are dataclasses
    problems: list[str] = []
    values: dict[str, Any] = {}
    for written, value in given.items():
        name = str(written).replace("-", "_")
        if name not in fields:
            known = [known.replace("_", "-") for known in fields]
            remedy = like(str(written).replace("_", "-"), known) or f": it has {', '.join(known) or 'none'}"
            problems.append(f"{named}: no parameter is named {str(written)!r}{remedy}")
            continue
        try:
            values[name] = fields[name].metadata["form"].parse(value)
        except ValueError as error:
            problems.append(f"{named}: {written}: {error}")
    if problems:
        raise ConfigError(tuple(problems))
    try:
        return cls(**values)
    except ValueError as error:
        raise ConfigError((f"{named}: {error}",)) from error


def form(cls: type, name: str) -> Form:
    """How a fault's parameter is written."""
    found: Form = next(field for field in dataclasses.fields(cls) if field.name == name).metadata["form"]
    return found


def schema(cls: type) -> dict[str, Any]:
    """The JSON Schema of a fault's parameters."""
    properties = {
        field.name.replace("_", "-"): {**field.metadata["form"].schema, "description": field.metadata["what"]}
        for field in dataclasses.fields(cls)
    }
    return {"type": "object", "additionalProperties": False, "properties": properties}


def like(word: str, words: Sequence[str]) -> str:
    """`: did you mean ...?`, or "" where no word is like it."""
    near = difflib.get_close_matches(word, words, n=1)
    return f": did you mean {near[0]}?" if near else ""
