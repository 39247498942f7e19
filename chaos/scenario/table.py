"""The tables of docs/chaos.md: made from what is shipped, so that they can't tell of something else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from chaos.checks import CHECKS
from chaos.checks.sometimes import SOMETIMES
from chaos.faults.registry import FAULTS, brief
from chaos.roles import ROLES
from chaos.scenario import loading
from chaos.scenario.faults import Registered
from chaos.scenario.trigger import CONDITIONS, EVENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_BLOCK: Final = re.compile(
    r"(?P<begin><!-- (?P<name>[a-z]+): `make gen` writes what follows -->\n).*?(?=<!-- end -->)", re.DOTALL
)


def filled(text: str) -> str:
    """A page with each of its tables as it must be."""
    return _BLOCK.sub(lambda found: f"{found['begin']}\n{_TABLES[found['name']]()}\n\n", text)


def _scenarios() -> str:
    rows = []
    for name in loading.names():
        scenario = loading.load(name, Registered())
        rows.append((f"`{name}`", scenario.description, ", ".join(scenario.tags)))
    return _table(("scenario", "what it teaches", "tags"), rows)


def _faults() -> str:
    rows = [
        (f"`{name}`", brief(fault), ", ".join(sorted(kind.value for kind in fault.aims)) or "the cluster")
        for name, fault in sorted(FAULTS.items())
    ]
    return _table(("fault", "what it does", "aimed at"), rows)


def _words(head: str, words: dict[str, str]) -> str:
    return _table((head, "meaning"), [(f"`{word}`", meaning) for word, meaning in words.items()])


_TABLES: Final[dict[str, Callable[[], str]]] = {
    "scenarios": _scenarios,
    "faults": _faults,
    "roles": lambda: _words("role", ROLES),
    "events": lambda: _words("event", EVENTS),
    "conditions": lambda: _words("condition", CONDITIONS),
    "checks": lambda: _words("check", {check.name: check.promise for check in CHECKS.values()}),
    "sometimes": lambda: _words("condition", {name: meaning for name, (meaning, _) in SOMETIMES.items()}),
}


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)
