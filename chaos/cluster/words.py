"""What a process said last, for one line."""

from __future__ import annotations

import json
from typing import Final

MOST: Final = 300
"""Characters that one line may have."""

_GRAVE: Final = ("error", "dpanic", "panic", "fatal")


def last_words(log: str) -> str:
    """The last line of a log that is not empty; of etcd's JSON lines the last grave one, without its stack.

    Returns:
        One line, "" if there is none.
    """
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    for line in reversed(lines):
        document = _document(line)
        if document.get("level") in _GRAVE:
            return _said(document)
    if not lines:
        return ""
    document = _document(lines[-1])
    return _said(document) if "msg" in document else lines[-1]


def shortened(line: str, *, most: int = MOST) -> str:
    """One line of at most so many characters."""
    line = " ".join(line.split())
    return line if len(line) <= most else f"{line[: most - 3]}..."


def _document(line: str) -> dict[str, object]:
    try:
        document = json.loads(line)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _said(document: dict[str, object]) -> str:
    rest = (f"{name}={value}" for name, value in document.items() if name not in _DROPPED)
    return " ".join((str(document.get("msg", "")), *rest)).strip()


_DROPPED: Final = frozenset({"level", "ts", "caller", "msg", "stacktrace"})
