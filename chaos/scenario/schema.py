"""The JSON Schema of a scenario, made from the model: editors complete and check files with it."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any, Final

import msgspec

from chaos import roles
from chaos.checks.sometimes import SOMETIMES
from chaos.scenario import length, trigger
from chaos.scenario.model import UNTIL_OVER, Scenario

FILE: Final = "scenario.schema.json"

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_LENGTHS: Final = ("within", "every", "delay", "failover-at-least", "failover-at-most", "client-gap-at-most")

_MOMENTS: Final = f"{length.PATTERN.removesuffix('$')}(\\.\\.{length.PATTERN.removeprefix('^')[:-1]})?$"

_ATTRIBUTE: Final = re.compile(r"^ {4}([a-z-]+): ")


def generate() -> dict[str, Any]:
    """The schema as it must be shipped."""
    (root,), definitions = msgspec.json.schema_components([Scenario])
    for definition in definitions.values():
        _complete(definition)
    return {"$schema": DIALECT, "title": "A chaos scenario", **root, "$defs": definitions}


def shipped() -> dict[str, Any]:
    """The schema as this package has it."""
    text = resources.files("chaos").joinpath("scenario", FILE).read_text(encoding="utf-8")
    schema: dict[str, Any] = msgspec.json.decode(text)
    return schema


def render() -> str:
    """The text of the shipped file."""
    return msgspec.json.format(msgspec.json.encode(generate()), indent=2).decode() + "\n"


def _complete(definition: dict[str, Any]) -> None:
    """Say in each field what it means and what it may hold; null stands for absent everywhere."""
    text, _, attributes = definition["description"].partition("\n\nAttributes:\n")
    definition["description"] = text
    told = _attributes(attributes)
    for name, field in definition["properties"].items():
        field.pop("default", None)
        if name in told:
            field["description"] = told[name]
        if rule := _rule(definition["title"], name):
            for key in ("type", "anyOf", "items"):
                field.pop(key, None)
            field.update(rule)


def _rule(owner: str, name: str) -> dict[str, Any]:
    if (owner, name) == ("Action", "lasts"):
        return {"type": ["string", "null"], "pattern": f"^{UNTIL_OVER}$|{length.PATTERN}"}
    if name in _LENGTHS:
        return {"type": ["string", "null"], "pattern": length.PATTERN}
    match owner, name:
        case "Action", "target":
            return {"type": ["string", "null"], "pattern": roles.PATTERN}
        case "Action", "at":
            return {"type": ["string", "null"], "pattern": _MOMENTS}
        case "Action", "after":
            return {"enum": [*trigger.EVENTS, None]}
        case "Action", "when":
            return {"enum": [*trigger.CONDITIONS, None]}
        case "Expectations", "sometimes":
            return {"type": "array", "items": {"enum": [*SOMETIMES]}}
        case "Configuration", "etcd":
            return {"enum": [1, 3]}
    return {}


def _attributes(text: str) -> dict[str, str]:
    """The fields of a docstring's section, each with its sentences on one line."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if (begun := _ATTRIBUTE.match(line)) is not None:
            name = begun[1]
            found[name] = line[begun.end() :]
        elif name and line.startswith(" " * 8):
            found[name] += f" {line.strip()}"
        else:
            name = ""
    return found
