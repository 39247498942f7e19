"""As much of JSON Schema as the schemas shipped here use; a keyword beyond that is an error, not ignored."""

from __future__ import annotations

import re
from typing import Any

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description", "default", "examples"}


def problems(document: Any, schema: dict[str, Any], path: str = "", *, root: dict[str, Any] | None = None) -> list[str]:
    """What is wrong with a document, each with its path."""
    root = root or schema
    told = []
    for keyword, rule in schema.items():
        if keyword in ANNOTATIONS:
            continue
        told += getattr(_Keywords, keyword.lstrip("$"))(document, rule, path, root, schema)
    return told


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, TYPES[name])


class _Keywords:
    @staticmethod
    def ref(value, rule, path, root, schema):
        found = root
        for part in rule.removeprefix("#/").split("/"):
            found = found[part]
        return problems(value, found, path, root=root)

    @staticmethod
    def type(value, rule, path, root, schema):
        names = [rule] if isinstance(rule, str) else rule
        return [] if any(_is(value, name) for name in names) else [f"{path}: {value!r} is no {' or '.join(names)}"]

    @staticmethod
    def enum(value, rule, path, root, schema):
        return [] if any(value == each and type(value) is type(each) for each in rule) else [f"{path}: {value!r}"]

    @staticmethod
    def const(value, rule, path, root, schema):
        return [] if value == rule else [f"{path}: {value!r} is not {rule!r}"]

    @staticmethod
    def pattern(value, rule, path, root, schema):
        fits = not isinstance(value, str) or re.search(rule, value)
        return [] if fits else [f"{path}: {value!r} doesn't match"]

    @staticmethod
    def minimum(value, rule, path, root, schema):
        return [f"{path}: {value} < {rule}"] if isinstance(value, int | float) and value < rule else []

    @staticmethod
    def maximum(value, rule, path, root, schema):
        return [f"{path}: {value} > {rule}"] if isinstance(value, int | float) and value > rule else []

    @staticmethod
    def minLength(value, rule, path, root, schema):  # noqa: N802 - JSON Schema's name
        return [f"{path}: {value!r} is too short"] if isinstance(value, str) and len(value) < rule else []

    @staticmethod
    def anyOf(value, rule, path, root, schema):  # noqa: N802 - JSON Schema's name
        told = [problems(value, each, path, root=root) for each in rule]
        return [] if not all(told) else min(told, key=len)

    @staticmethod
    def required(value, rule, path, root, schema):
        return [f"{path}: {name} is missing" for name in rule if isinstance(value, dict) and name not in value]

    @staticmethod
    def properties(value, rule, path, root, schema):
        if not isinstance(value, dict):
            return []
        return [
            told
            for name, each in value.items()
            if name in rule
            for told in problems(each, rule[name], f"{path}.{name}", root=root)
        ]

    @staticmethod
    def additionalProperties(value, rule, path, root, schema):  # noqa: N802 - JSON Schema's name
        if not isinstance(value, dict):
            return []
        others = {name: each for name, each in value.items() if name not in schema.get("properties", {})}
        if rule is False:
            return [f"{path}: {name} is unknown" for name in others]
        if rule is True:
            return []
        return [told for name, each in others.items() for told in problems(each, rule, f"{path}.{name}", root=root)]

    @staticmethod
    def items(value, rule, path, root, schema):
        if not isinstance(value, list):
            return []
        return [
            told for index, each in enumerate(value) for told in problems(each, rule, f"{path}[{index}]", root=root)
        ]
