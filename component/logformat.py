"""How a log record looks as a line, as text for people and as JSON."""

from __future__ import annotations

import json
import logging
import math
import traceback
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from enum import Enum

Context = Callable[[], Mapping[str, str]]

RESERVED = frozenset({"ts", "level", "logger", "event", "traceback", "trace_id", "span_id"})
"""Keys of a line that are no fields; a field of such a name gets an underscore behind it."""

_COLOURS = {"DEBUG": "\x1b[2m", "INFO": "\x1b[32m", "WARNING": "\x1b[33m", "ERROR": "\x1b[31m", "CRITICAL": "\x1b[31m"}
_PLAIN = "\x1b[0m"


class TextFormatter(logging.Formatter):
    """`<time> <LEVEL> <event> key=value ...`, a value with blanks quoted; a traceback follows on lines of its own.

    Args:
        tracebacks: Show that of every exception, not only of unexpected ones.
        contexts: Asked for more keys at each record.
        colour: Colour the level.
    """

    def __init__(self, *, tracebacks: bool, contexts: Collection[Context] = (), colour: bool = False) -> None:
        super().__init__()
        self._tracebacks = tracebacks
        self._contexts = contexts
        self._colour = colour

    def format(self, record: logging.LogRecord) -> str:
        level = record.levelname
        if self._colour:
            level = f"{_COLOURS.get(level, '')}{level}{_PLAIN}"
        fields = _fields(record)
        if not _is_ours(record):
            fields["logger"] = record.name
        for context in self._contexts:
            fields.update(context())
        shown = "".join(f" {key}={_shown(value)}" for key, value in fields.items())
        return f"{_moment(record)} {level} {_one_line(record.getMessage())}{shown}{self._tail(record)}"

    def _tail(self, record: logging.LogRecord) -> str:
        trace = _traceback(record, wanted=self._tracebacks)
        return "\n" + trace if trace else ""


class JsonFormatter(logging.Formatter):
    """One object a line: `ts`, `level`, `logger`, `event`, the fields beside them, `trace_id` and `span_id` in a span.

    Args:
        tracebacks: Add that of every exception as `traceback`, not only of unexpected ones.
        contexts: Asked for more keys at each record.
    """

    def __init__(self, *, tracebacks: bool, contexts: Collection[Context] = ()) -> None:
        super().__init__()
        self._tracebacks = tracebacks
        self._contexts = contexts

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "ts": _moment(record),
            "level": record.levelname,
            "logger": record.name,
            "event": record.getMessage(),
            **_fields(record),
        }
        for context in self._contexts:
            line.update(context())
        if trace := _traceback(record, wanted=self._tracebacks):
            line["traceback"] = trace
        return json.dumps(line, ensure_ascii=False)


def plain(value: object) -> object:
    """`value` in JSON's types: an exception as its type and message, what JSON doesn't know as its text."""
    match value:
        case Enum():
            return plain(value.value)
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case BaseException():
            message = str(value)
            return f"{type(value).__name__}: {message}" if message else type(value).__name__
        case bytes():
            return value.decode(errors="backslashreplace")
        case Mapping():
            return {str(key): plain(inner) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [plain(inner) for inner in value]
        case _:
            return str(value)


def _is_ours(record: logging.LogRecord) -> bool:
    return hasattr(record, "fields")


def _given(record: logging.LogRecord) -> dict[str, object]:
    """Fields as they were given; of another package's record the exception is the one there is."""
    if _is_ours(record):
        return dict(record.__dict__["fields"])
    error = record.exc_info[1] if record.exc_info else None
    return {} if error is None else {"error": error}


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {f"{key}_" if key in RESERVED else key: plain(value) for key, value in _given(record).items()}


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _shown(value: object) -> str:
    if not isinstance(value, str):
        if isinstance(value, float):
            value = round(value, 6)
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    bare = value and value.isprintable() and not any(sign in value for sign in ' "=')
    return value if bare else json.dumps(value, ensure_ascii=not value.isprintable())


def _one_line(event: str) -> str:
    """No message can break its line or steer a terminal."""
    return event if event.isprintable() else json.dumps(event)[1:-1]


def _traceback(record: logging.LogRecord, *, wanted: bool) -> str:
    errors = [value for value in _given(record).values() if isinstance(value, BaseException)]
    if not wanted and _is_ours(record):
        errors = [error for error in errors if error is record.__dict__["unexpected"]]
    return "\n".join("".join(traceback.format_exception(error)).rstrip("\n") for error in errors)
