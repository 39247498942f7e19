"""Strict decoding of what people write: an unknown field is an error, and every problem is told with its path.

Types are msgspec's: structs (their fields by the names they are encoded by), tuples, dicts, scalars, `Literal`,
`Seconds` for durations, `X | None`. Null counts as absent. A struct may have a method `problems`, which yields pairs of
a path within it and a line about what its fields can't mean.
"""

from __future__ import annotations

import difflib
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast, runtime_checkable

import msgspec
from msgspec import inspect

from component.durations import format_duration, parse_duration

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

T = TypeVar("T")

_SHOWN: Final = 60


class Seconds(float):
    """A duration: seconds here, in a document a text such as `15s`."""


@runtime_checkable
class SelfChecked(Protocol):
    """A struct with rules of its own."""

    def problems(self) -> Iterable[tuple[str, str]]:
        """What is wrong with it: a path within it ("" for itself), and one line."""
        ...


class Malformed(ValueError):
    """A document that isn't what it should be.

    Attributes:
        problems: Every one, each a line that begins with its path.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


def decode(document: Any, wanted: type[T], path: str = "") -> T:
    """A plain document (of JSON or YAML) as a value of a type.

    Args:
        path: Where the document stands in a larger one; "" for nowhere.

    Raises:
        Malformed: With every problem.
    """
    problems: list[str] = []
    found = _Decoder(problems).value(document, _type_info(cast("Hashable", wanted)), path)
    if problems:
        raise Malformed(problems)
    return cast("T", found)


def encode(value: Any) -> Any:
    """The plain document that `decode` makes such a value of.

    What is None is left out, and of structs with `omit_defaults` what is at its default.
    """
    if isinstance(value, msgspec.Struct):
        brief = value.__struct_config__.omit_defaults
        fields = [(field, getattr(value, field.name)) for field in msgspec.structs.fields(value)]
        return {
            field.encode_name: encode(each)
            for field, each in fields
            if each is not None and not (brief and each == field.default)
        }
    if isinstance(value, Seconds):
        return format_duration(value)
    if isinstance(value, dict):
        return {name: encode(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [encode(each) for each in value]
    return value


def join(path: str, field: str) -> str:
    """The path of a field (or of an item, `[0]`) of what stands at `path`."""
    return f"{path}{field}" if not path or not field or field.startswith("[") else f"{path}.{field}"


def show(value: Any) -> str:
    """A value as JSON, cut to what a line can bear."""
    try:
        text = msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


@lru_cache
def _type_info(wanted: Hashable) -> inspect.Type:
    return inspect.type_info(wanted)


_WRONG: Final = object()
"""Stands for what could not be decoded; the problem has been noted."""


class _Decoder:
    def __init__(self, problems: list[str]) -> None:
        self._problems = problems

    def value(self, value: Any, wanted: inspect.Type, path: str) -> Any:
        match wanted:
            case inspect.StructType():
                return self._struct(value, wanted, path)
            case inspect.UnionType():
                return self._optional(value, wanted, path)
            case inspect.VarTupleType(item_type=item):
                return self._items(value, item, path)
            case inspect.DictType(value_type=item):
                return self._entries(value, item, path)
            case inspect.CustomType(cls=cls) if cls is Seconds:
                return self._duration(value, path)
            case inspect.LiteralType(values=values):
                known = value in values and isinstance(value, str)
                return value if known else self._wrong(path, value, f"must be one of {', '.join(map(str, values))}")
            case inspect.AnyType():
                return value
        return self._scalar(value, wanted, path)

    def _struct(self, value: Any, wanted: inspect.StructType, path: str) -> Any:
        if not isinstance(value, dict):
            return self._wrong(path, value, "must be an object")
        before = len(self._problems)
        fields = {field.encode_name: field for field in wanted.fields}
        for name in value:
            if name not in fields:
                close = difflib.get_close_matches(str(name), fields, n=1)
                hint = f", did you mean {close[0]}?" if close else ""
                self._problems.append(f"{join(path, str(name))}: unknown field{hint}")
        found = {}
        whole = True
        for name, field in fields.items():
            given, so_far = value.get(name), len(self._problems)
            if given is not None:
                decoded = self.value(given, field.type, join(path, name))
                if len(self._problems) == so_far:
                    found[field.name] = decoded
            elif field.required:
                self._problems.append(f"{join(path, name)}: is required")
            whole = whole and not (field.required and field.name not in found)
        if not whole:
            return _WRONG
        # Its rules are asked even if a field is wrong, whose default stands in: all problems are told at once.
        made = wanted.cls(**found)
        if isinstance(made, SelfChecked):
            self._problems += [
                f"{at}: {text}" if (at := join(path, where)) else text for where, text in made.problems()
            ]
        return made if len(self._problems) == before else _WRONG

    def _optional(self, value: Any, wanted: inspect.UnionType, path: str) -> Any:
        if value is None:
            return None
        (only,) = [each for each in wanted.types if not isinstance(each, inspect.NoneType)]
        return self.value(value, only, path)

    def _items(self, value: Any, item: inspect.Type, path: str) -> Any:
        if not isinstance(value, list):
            return self._wrong(path, value, "must be a list")
        return tuple(self.value(each, item, f"{path}[{index}]") for index, each in enumerate(value))

    def _entries(self, value: Any, item: inspect.Type, path: str) -> Any:
        if not isinstance(value, dict):
            return self._wrong(path, value, "must be an object")
        return {name: self.value(each, item, join(path, str(name))) for name, each in value.items()}

    def _duration(self, value: Any, path: str) -> Any:
        if not isinstance(value, str):
            return self._wrong(path, value, 'must be a duration such as "15s"')
        try:
            return Seconds(parse_duration(value))
        except ValueError as error:
            self._problems.append(f"{path}: {error}")
            return _WRONG

    def _scalar(self, value: Any, wanted: inspect.Type, path: str) -> Any:
        kind, name = _SCALARS[type(wanted)]
        if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            return value
        return self._wrong(path, value, f"must be {name}")

    def _wrong(self, path: str, value: Any, what: str) -> Any:
        self._problems.append(f"{path}: {show(value)} {what}" if path else f"{show(value)} {what}")
        return _WRONG


_SCALARS: Final[Mapping[type[inspect.Type], tuple[Any, str]]] = {
    inspect.StrType: (str, "a text: put it in quotes"),
    inspect.IntType: (int, "a whole number"),
    inspect.FloatType: (int | float, "a number"),
    inspect.BoolType: (bool, "true or false"),
}
