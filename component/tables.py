"""Tables for people, in kubectl's form: upper-case headers, left-aligned columns, three blanks between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP: Final = "   "


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, with_headers: bool = True) -> list[str]:
    """The lines of a table."""
    lines = [tuple(map(one_line, row)) for row in rows]
    if with_headers:
        lines.insert(0, tuple(headers))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)] if lines else []
    return [GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def boxed(title: str, headers: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table in a box, as patronictl draws it."""
    lines = [tuple(headers), *(tuple(map(one_line, row)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    short = len(title) + 4 - sum(width + 3 for width in widths) - 1
    widths[-1] += max(short, 0)
    rule = "+" + "+".join("-" * (width + 2) for width in widths) + "+"
    body = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    return [f"+ {title} ".ljust(len(rule) - 1, "-") + "+", body[0], rule, *body[1:], rule]


def one_line(text: str) -> str:
    """Text that can't break a table or a terminal: control characters are shown escaped."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)
