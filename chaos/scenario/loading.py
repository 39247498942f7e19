"""Scenarios out of files and out of this package: every problem at once, each with its path."""

from __future__ import annotations

import difflib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from chaos.checks.sometimes import SOMETIMES
from chaos.scenario.model import Scenario
from component import strict
from lockd.errors import ConfigError
from replica.api.documents import DocumentError, parse_documents

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

    from chaos.scenario.faults import Faults

SUFFIXES: Final = (".yaml", ".yml", ".json")


def names() -> tuple[str, ...]:
    """The scenarios that are shipped."""
    folder = resources.files("chaos").joinpath("scenarios")
    return tuple(sorted(each.name.removesuffix(".yaml") for each in folder.iterdir() if each.name.endswith(".yaml")))


def shipped_path(name: str) -> Traversable:
    """Where a shipped scenario is."""
    return resources.files("chaos").joinpath("scenarios", f"{name}.yaml")


def load(name: str, faults: Faults) -> Scenario:
    """A shipped scenario by its name, or one of a file by its path.

    Raises:
        ConfigError: With every problem.
    """
    if name in names():
        text = shipped_path(name).read_text(encoding="utf-8")
        return parse(text, name, faults)
    if "/" not in name and not name.endswith(SUFFIXES):
        close = difflib.get_close_matches(name, names(), n=1)
        hint = f"did you mean {close[0]}?" if close else "`chaosctl list` tells them; a file's name ends with .yaml"
        raise ConfigError((f"{name}: no such scenario: {hint}",))
    return read(Path(name), faults)


def read(path: Path, faults: Faults) -> Scenario:
    """The scenario of a file.

    Raises:
        ConfigError: With every problem, each with the file's name and the path in it.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError((f"{path}: can't be read: {getattr(error, 'strerror', None) or error}",)) from error
    return parse(text, str(path), faults)


def parse(text: str, source: str, faults: Faults) -> Scenario:
    """The scenario of a text of YAML or JSON.

    Raises:
        ConfigError: With every problem, each with the source and the path in it.
    """
    try:
        documents = [each.value for each in parse_documents(text)]
    except DocumentError as error:
        raise ConfigError((f"{source}: {error}",)) from error
    if len(documents) != 1:
        raise ConfigError((f"{source}: holds {len(documents)} documents: put one scenario into it",))
    try:
        scenario = decode(documents[0], faults)
    except strict.Malformed as error:
        raise ConfigError(tuple(f"{source}: {problem}" for problem in error.problems)) from error
    return scenario


def decode(document: Any, faults: Faults) -> Scenario:
    """The scenario that a plain document tells.

    Raises:
        strict.Malformed: With every problem.
    """
    problems = list(_nothing_to_do(document))
    try:
        scenario = strict.decode(document, Scenario)
    except strict.Malformed as error:
        raise strict.Malformed((*error.problems, *problems)) from error
    problems += [
        f"expectations.sometimes[{index}]: {name!r} is no condition: take some of {', '.join(SOMETIMES)}"
        for index, name in enumerate(scenario.expectations.sometimes)
        if name not in SOMETIMES
    ]
    for path, action in scenario.actions():
        problems += [f"{strict.join(path, where)}: {what}" for where, what in faults.problems(action)]
    if problems:
        raise strict.Malformed(problems)
    return scenario


def _nothing_to_do(document: Any) -> Iterator[str]:
    """Said of the document: where an action is wrong, the others are none the less there."""
    if isinstance(document, dict) and not (document.get("method") or document.get("drawn")):
        yield "method: is empty: list an action, or give drawn"
