"""The mutants: one TOML file for each mutated module, beside this one.

file = "lockd/fencing.py"                      # the module, from the root of the tree
tests = ["tests/unit/lockd/test_fencing.py"]   # what must turn red

[[mutant]]
name = "any revision will do"
old = "if revision <= 0:"                      # a whole line without its indentation, to be found exactly once
new = "if revision < 0:"
within = "def __new__(cls, revision: int) -> Self:"   # optional: the line that opens the block to search
tests = [...]                                  # optional: instead of the file's
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


class TableError(Exception):
    """A row that can't be used; its text names the file, the mutant and the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One line exchanged for another.

    Attributes:
        name: What the bug is, in a few words.
        file: The module, from the root of the tree.
        old: The line without its indentation.
        new: What stands there instead.
        within: The line that opens the block to search; "" for the whole file.
        tests: Paths or node ids of the tests of which at least one must fail.
    """

    name: str
    file: str
    old: str
    new: str
    within: str
    tests: tuple[str, ...]

    def apply(self, text: str) -> str:
        """The text with the one line exchanged.

        Raises:
            TableError: The line is not there exactly once.
        """
        lines = text.splitlines(keepends=True)
        block = range(len(lines))
        if self.within:
            block = _block(lines, self._find(lines, block, self.within))
        at = self._find(lines, block, self.old)
        line = lines[at]
        lines[at] = line.replace(self.old, self.new)
        return "".join(lines)

    def _find(self, lines: list[str], block: range, wanted: str) -> int:
        found = [index for index in block if lines[index].strip() == wanted]
        if len(found) != 1:
            raise TableError(
                f"{self.file}: mutant {self.name!r}: the line {wanted!r} is there {len(found)} times, "
                "not once: follow the source, or narrow it by `within`"
            )
        return found[0]


def _block(lines: list[str], opening: int) -> range:
    """The lines below `opening` that are indented deeper than it, blank ones too."""
    depth = _depth(lines[opening])
    end = opening + 1
    while end < len(lines) and (not lines[end].strip() or _depth(lines[end]) > depth):
        end += 1
    return range(opening + 1, end)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def load(folder: Path) -> tuple[Mutant, ...]:
    """All mutants of the TOML files in a folder, in their order.

    Raises:
        TableError: A file or a row is not as described above, or two mutants have one name.
    """
    mutants = [mutant for path in sorted(folder.glob("*.toml")) for mutant in _rows(path)]
    names = [f"{mutant.file}: {mutant.name}" for mutant in mutants]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise TableError(f"two mutants have one name: {twice[0]}: name them apart")
    return tuple(mutants)


def _rows(path: Path) -> list[Mutant]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        return [_mutant(document, row) for row in document["mutant"]]
    except tomllib.TOMLDecodeError as error:
        raise TableError(f"{path.name} is not TOML: {error}") from error
    except KeyError as error:
        raise TableError(f"{path.name}: {error.args[0]!r} is missing") from error


def _mutant(document: dict[str, Any], row: dict[str, Any]) -> Mutant:
    mutant = Mutant(
        name=row["name"],
        file=document["file"],
        old=row["old"].strip(),
        new=row["new"].strip(),
        within=row.get("within", "").strip(),
        tests=tuple(row.get("tests") or document["tests"]),
    )
    if mutant.old == mutant.new:
        raise TableError(f"{mutant.file}: mutant {mutant.name!r} changes nothing")
    return mutant
