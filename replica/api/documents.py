"""YAML and JSON as kubectl reads them: many documents, each a plain value.

Timestamps stay text, keys are texts, and what is given twice is an error. A document that grows without end (aliases
of aliases) is refused.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

_BASE: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NODE_LIMIT: Final = 1_000_000
_DEPTH_LIMIT: Final = 100
_DIGITS: Final = 100
"""Digits of a number that are looked at: int() takes its time over very long ones."""


class DocumentError(ValueError):
    """A text that is not YAML or JSON, in one line with its place."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a text; `index` counts from 1."""

    index: int
    value: Any


_DUMPER: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_DUMPER):  # type: ignore[misc]  # chosen at run time, as the loader
    """Quotes whatever this reader or another one would take for something else than a text."""


class _Loader(_BASE):  # type: ignore[misc]  # chosen at run time: libyaml's where it is there
    """Resolves plain scalars as kubectl's YAML does: no timestamps, no base-60 numbers, exponents without a dot."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012  # a class attribute of PyYAML's


_INT_TAG: Final = "tag:yaml.org,2002:int"
_FLOAT_TAG: Final = "tag:yaml.org,2002:float"
_MERGE_TAG: Final = "tag:yaml.org,2002:merge"


def _resolvers() -> None:
    kept = {"tag:yaml.org,2002:bool", "tag:yaml.org,2002:null", _MERGE_TAG}
    _Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in found if tag in kept]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    for tag, pattern, first in (
        (_INT_TAG, r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)$", "-+0123456789"),
        (
            _FLOAT_TAG,
            r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9_]+)(?:[eE][-+]?[0-9]+)?$|[-+]?\.(?:inf|Inf|INF)$|\.(?:nan|NaN|NAN)$",
            "-+0123456789.",
        ),
    ):
        _Loader.add_implicit_resolver(tag, re.compile(pattern), list(first))
        _Dumper.add_implicit_resolver(tag, re.compile(pattern), list(first))
    _Dumper.add_representer(str, _text)


def _text(dumper: Any, text: str) -> yaml.Node:
    style = "|" if "\n" in text else None
    node: yaml.Node = dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)
    return node


_resolvers()


def parse_documents(text: str) -> Iterator[Document]:
    """The documents of a text, in order; empty ones are left out but counted. JSON ones need no `---` between them.

    Raises:
        DocumentError: The text, from there on, can't be read.
    """
    if text.lstrip("\ufeff \t\r\n")[:1] in {"{", "["}:
        yield from _json(text.lstrip("\ufeff"))
    else:
        yield from _yaml(text)


_SEPARATOR: Final = re.compile(r"---[ \t]*(?:#.*)?(?:\r?\n|$)")


def _json(text: str) -> Iterator[Document]:
    decoder = json.JSONDecoder(
        object_pairs_hook=_once, parse_constant=_no_constant, parse_int=_integer, parse_float=_finite
    )
    index, at = 0, 0
    while (at := _skip(text, at)) < len(text):
        if (separator := _SEPARATOR.match(text, at)) is not None:
            at = _skip(text, separator.end())
            if text[at : at + 1] not in {"", "{", "["}:
                # the lines before count in messages
                yield from _yaml("\n" * text.count("\n", 0, at) + text[at:], index)
                return
            continue
        index += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise DocumentError(f"document {index}: line {error.lineno}: {error.msg}") from error
        except RecursionError as error:
            raise DocumentError(f"document {index}: nested too deeply") from error
        except ValueError as error:
            raise DocumentError(f"document {index}: {error}") from error
        yield Document(index, value)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'"{twice}" is given twice in one object')
    return found


def _integer(text: str, base: int = 10) -> int:
    """A whole number of at most 64 bits: what JSON's readers agree on.

    Raises:
        ValueError: It is larger, or none.
    """
    number = int(text, base) if len(text) <= _DIGITS else 2**64
    if not -(2**63) <= number < 2**64:
        raise ValueError(f"{text[:_DIGITS]} has more than 64 bits: put it in quotes if it is a quantity")
    return number


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:_DIGITS]} is no number that JSON knows")
    return number


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number that JSON knows")


def _yaml(text: str, index: int = 0) -> Iterator[Document]:
    """The YAML documents of a text, of which `index` came before."""
    try:
        loader = _Loader(text)
    except yaml.YAMLError as error:
        raise DocumentError(_line(error)) from error
    try:
        while loader.check_node():
            index += 1
            value = _Values(index).of(loader.get_node())
            if value is not None:
                yield Document(index, value)
    except yaml.YAMLError as error:
        raise DocumentError(_line(error)) from error
    except RecursionError as error:
        raise DocumentError(f"document {index}: nested too deeply") from error
    finally:
        loader.dispose()


def _line(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or getattr(error, "reason", None) or "not YAML"
    return f"line {mark.line + 1}: {what}" if mark is not None else str(what)


def write_yaml(value: Any) -> str:
    """A value as YAML in block style, its fields in their order; `parse_documents` reads it back the same."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, default_flow_style=False, allow_unicode=True, width=120
    )
    return text


class _Values:
    """Makes plain values of one document's nodes."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._left = _NODE_LIMIT

    def of(self, node: yaml.Node, depth: int = 0) -> Any:
        self._left -= 1
        if self._left < 0 or depth > _DEPTH_LIMIT:
            raise self._error(node, "too large or nested too deeply (aliases may repeat themselves without end)")
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if isinstance(node, yaml.SequenceNode):
            return [self.of(item, depth + 1) for item in node.value]
        return self._mapping(node, depth)

    def _mapping(self, node: yaml.Node, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        merged: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag == _MERGE_TAG:
                sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
                for source in reversed(sources):
                    if not isinstance(source, yaml.MappingNode):
                        raise self._error(key, "<< wants a mapping")
                    merged.update(self._mapping(source, depth + 1))
                continue
            if not isinstance(key, yaml.ScalarNode):
                raise self._error(key, "a key must be a text")
            name = str(key.value)
            if name in found:
                raise self._error(key, f'"{name}" is given twice in one object')
            found[name] = self.of(value, depth + 1)
        return {**merged, **found}

    def _scalar(self, node: yaml.ScalarNode) -> Any:
        text: str = node.value
        match node.tag.rpartition(":")[2]:
            case "null":
                return None
            case "bool":
                return text.lower() in {"true", "yes", "on"}
            case "int" | "float" as type_:
                try:
                    return _yaml_number(type_, text.replace("_", "").lower())
                except ValueError as error:
                    raise self._error(node, str(error)) from error
        return text

    def _error(self, node: yaml.Node, problem: str) -> DocumentError:
        return DocumentError(f"document {self._index}: line {node.start_mark.line + 1}: {problem}")


def _yaml_number(type_: str, text: str) -> int | float:
    if type_ == "float":
        return _finite(text.replace(".inf", "inf").replace(".nan", "nan"))
    digits = text.lstrip("+-")
    octal = 8 if digits[:1] == "0" and len(digits) > 1 else 10
    base = {"0x": 16, "0b": 2, "0o": 8}.get(digits[:2], octal)
    number = _integer(digits[2:] if digits[:2] in {"0x", "0b", "0o"} else digits, base)
    return -number if text.startswith("-") else number
