"""Scenarios out of files and out of this package: every problem at once, each with its path."""

from __future__ import annotations

import difflib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from chaos.checks.sometimes import SOMETIMES
from chaos.scenario.model import Action, Scenario
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
    further = [*_nothing_to_do(document), *_no_conditions(document), *_no_faults(document, faults)]
    try:
        scenario = strict.decode(document, Scenario)
    except strict.Malformed as error:
        raise strict.Malformed((*error.problems, *further)) from error
    if further:
        raise strict.Malformed(further)
    return scenario


# What follows is asked of the document: where something in it is wrong, all the rest is none the less there.


def _nothing_to_do(document: Any) -> Iterator[str]:
    if isinstance(document, dict) and not (document.get("method") or document.get("drawn")):
        yield "method: is empty: list an action, or give drawn"


def _no_conditions(document: Any) -> Iterator[str]:
    for index, name in enumerate(_items(_field(document, "expectations"), "sometimes")):
        if isinstance(name, str) and name not in SOMETIMES:
            known = ", ".join(SOMETIMES)
            yield f"expectations.sometimes[{index}]: {name!r} is no condition: take some of {known}"


def _no_faults(document: Any, faults: Faults) -> Iterator[str]:
    drawn = _field(document, "drawn")
    for where, items in (
        ("method", _items(document, "method")),
        ("drawn.among", _items(drawn, "among")),
        ("rollbacks", _items(document, "rollbacks")),
    ):
        for index, item in enumerate(items):
            if (action := _action(item)) is not None:
                path = f"{where}[{index}]"
                yield from (f"{strict.join(path, field)}: {what}" for field, what in faults.problems(action))


def _action(item: Any) -> Action | None:
    """What an action does to whom, whether or not its other fields are right; None: it can't be told."""
    fault, target = _field(item, "fault"), _field(item, "target")
    parameters = _field(item, "parameters")
    if not isinstance(fault, str) or not isinstance(target, str | None) or not isinstance(parameters, dict | None):
        return None
    return Action(fault=fault, target=target, parameters=parameters or {})


def _field(document: Any, name: str) -> Any:
    return document.get(name) if isinstance(document, dict) else None


def _items(document: Any, name: str) -> list[Any]:
    found = _field(document, name)
    return found if isinstance(found, list) else []
