"""Rows of a CSV file with a header: each column is checked as it is read, and every problem names its place."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

MOST: Final = 20
"""Problems of one file that are told; the others are counted."""

_DIGITS: Final = re.compile(r"[0-9]{1,18}")
_SHOWN: Final = 60


@dataclass(slots=True)
class Problems:
    """What is wrong in one file, in the order of its lines."""

    lines: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, problem: str) -> None:
        self.count += 1
        if self.count <= MOST:
            self.lines.append(problem)

    def told(self, file: str) -> list[str]:
        """One line each, and one for those that are left out."""
        left = self.count - len(self.lines)
        return [*self.lines, f"{file}: {left} more problems of this kind"] if left else list(self.lines)


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its cells by column, and where it stands. A cell that is wrong is noted, and read as 0 or ""."""

    file: str
    line: int
    cells: dict[str, str]
    problems: Problems

    @property
    def place(self) -> str:
        return f"{self.file}: line {self.line}"

    def wrong(self, column: str, remedy: str) -> None:
        """Note that a cell is wrong, and what is wanted instead."""
        value = self.cells.get(column, "")
        shown = value if len(value) <= _SHOWN else f"{value[: _SHOWN - 3]}..."
        self.problems.add(f'{self.place}: {column}: "{shown}" {remedy}')

    def text(self, column: str, check: Callable[[str], str | None] | None = None) -> str:
        """A cell's text.

        Args:
            check: Says what is wrong with it, or None.
        """
        value = self.cells[column].strip()
        problem = check(value) if check is not None else None
        if problem is not None:
            self.wrong(column, problem)
            return ""
        return value

    def number(self, column: str, *, least: int = 0, most: int = 10**12) -> int:
        """A whole number from `least` to `most`."""
        value = self.cells[column].strip()
        if _DIGITS.fullmatch(value) is None:
            self.wrong(column, "is no whole number: digits alone are wanted")
        elif not least <= int(value) <= most:
            self.wrong(column, f"must be from {least} to {most}")
        else:
            return int(value)
        return 0


def read_rows(path: Path, columns: Sequence[str], problems: Problems) -> Iterator[Row]:
    """The rows of a file whose header names `columns`, among others; rows that can't be read are noted and left out.

    Raises:
        OSError: The file can't be read.
    """
    with path.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.reader(lines, strict=True)
        try:
            header = [name.strip() for name in next(reader, [])]
            if missing := [name for name in columns if name not in header]:
                problems.add(
                    f"{path}: line 1: no column {', '.join(missing)}: the header must name {','.join(columns)}"
                )
                return
            for cells in reader:
                if not cells:
                    continue
                row = Row(str(path), reader.line_num, dict(zip(header, cells, strict=False)), problems)
                if len(cells) == len(header):
                    yield row
                else:
                    problems.add(f"{row.place}: {len(cells)} columns, where the header has {len(header)}")
        except csv.Error as error:
            problems.add(f"{path}: line {reader.line_num}: {error}")
        except UnicodeDecodeError as error:
            problems.add(f"{path}: not UTF-8 at byte {error.start} after line {reader.line_num}: save it as UTF-8")
