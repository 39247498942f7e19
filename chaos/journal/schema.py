"""The JSON Schema of `journal.json`, made from its classes and shipped."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any, Final

import msgspec

from chaos.journal.journal import RESULT, Journal

FILE: Final = "journal.schema.json"

_ATTRIBUTE: Final = re.compile(r"^ {4}(\w+(?:, \w+)*): (.*(?:\n {8}.*)*)", re.MULTILINE)

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def generate() -> dict[str, Any]:
    """The schema as it must be shipped."""
    (root,), definitions = msgspec.json.schema_components([Journal])
    for definition in definitions.values():
        _describe(definition)
    definitions["Journal"]["required"] = list(RESULT)
    made = {"$schema": DIALECT, "title": "A journal of chaosctl", **root, "$defs": definitions}
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(made))
    return found


def shipped() -> dict[str, Any]:
    """The schema as this package has it."""
    text = resources.files("chaos").joinpath("journal", FILE).read_text(encoding="utf-8")
    found: dict[str, Any] = msgspec.json.decode(text)
    return found


def render() -> str:
    """The text of the shipped file."""
    return msgspec.json.format(msgspec.json.encode(generate()), indent=2).decode() + "\n"


def _describe(definition: dict[str, Any]) -> None:
    """Give each key the sentences that its class has about it."""
    text, _, attributes = definition["description"].partition("\n\nAttributes:\n")
    definition["description"] = " ".join(text.split())
    for found in _ATTRIBUTE.finditer(attributes):
        for name in found[1].split(", "):
            definition["properties"][name]["description"] = " ".join(found[2].split())
