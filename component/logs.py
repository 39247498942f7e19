"""Log events: a constant message and fields apart.

They go through the standard library's `logging`, so what other packages log comes out alike.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import IO, TYPE_CHECKING, Literal

from component.logformat import Context, JsonFormatter, TextFormatter
from component.logstream import LineWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

DEBUG_VERBOSITY = 4
"""From here on DEBUG is shown, as with Kubernetes' `-v`; libraries show theirs two steps later."""

_own: dict[str, logging.Logger] = {}
_contexts: list[Context] = []


class Logger:
    """Logs events under a name. A field may hold anything; an exception is shown as its type and message."""

    __slots__ = ("_fields", "_logger")

    def __init__(self, logger: logging.Logger, fields: Mapping[str, object]) -> None:
        self._logger = logger
        self._fields = fields

    def bind(self, **fields: object) -> Logger:
        """A logger that adds `fields` to each event."""
        return Logger(self._logger, {**self._fields, **fields})

    @property
    def debugs(self) -> bool:
        """Is anything logged by `debug` seen by anybody?"""
        return self._logger.isEnabledFor(logging.DEBUG)

    def debug(self, event: str, /, **fields: object) -> None:
        """For what happens at each attempt."""
        self._log(logging.DEBUG, event, fields)

    def info(self, event: str, /, **fields: object) -> None:
        """For what happens once a transition."""
        self._log(logging.INFO, event, fields)

    def warning(self, event: str, /, **fields: object) -> None:
        """For what a person may want to look at."""
        self._log(logging.WARNING, event, fields)

    def error(self, event: str, /, **fields: object) -> None:
        """For what a person must act on."""
        self._log(logging.ERROR, event, fields)

    def exception(self, event: str, error: BaseException, /, **fields: object) -> None:
        """An error that nobody expected, as field `error`, with its traceback whatever the verbosity."""
        self._log(logging.ERROR, event, {**fields, "error": error}, unexpected=error)

    def _log(
        self, level: int, event: str, fields: Mapping[str, object], *, unexpected: BaseException | None = None
    ) -> None:
        logger = self._logger
        if logger.isEnabledFor(level):
            extra = {"fields": {**self._fields, **fields}, "unexpected": unexpected}
            # made by hand, since `log` would walk the stack for a file and line that are never shown
            logger.handle(logger.makeRecord(logger.name, level, "", 0, event, (), None, extra=extra))


def get(name: str) -> Logger:
    """The logger of a module, `name` being its `__name__`."""
    package = name.partition(".")[0]
    if package not in _own:
        _own[package] = logging.getLogger(package)
        _own[package].setLevel(_levels.own)
    return Logger(logging.getLogger(name), {})


def use_context(context: Context) -> None:
    """Add what `context()` returns, such as trace ids, to every line logged from now on."""
    if context not in _contexts:
        _contexts.append(context)


def setup(*, format: Literal["text", "json"] = "text", verbosity: int = 0, stream: IO[str] | None = None) -> None:  # noqa: A002 - named as the option is
    """Send everything that is logged to one stream; a later call replaces an earlier one.

    Args:
        format: `text` gives `2026-01-31T12:00:00.123456Z INFO lease acquired token=7`, `json` one object a line with
            the fields beside `ts`, `level`, `logger`, `event` and, within a span, `trace_id` and `span_id`.
        verbosity: Kubernetes' scale: below 0 warnings only, then INFO, from 4 on DEBUG (and the traceback of every
            exception), from 6 on that of libraries too.
        stream: Standard error by default. A pipe whose reader has stalled makes nobody wait: lines are lost, and
            counted in a line once it reads again.
    """
    target = sys.stderr if stream is None else stream
    debug = verbosity >= DEBUG_VERBOSITY
    _levels.own = logging.DEBUG if debug else logging.INFO if verbosity >= 0 else logging.WARNING
    for logger in _own.values():
        logger.setLevel(_levels.own)
    root = logging.getLogger()
    root.setLevel(logging.DEBUG if verbosity >= DEBUG_VERBOSITY + 2 else logging.WARNING)
    for earlier in [known for known in root.handlers if isinstance(known, LineHandler)]:
        root.removeHandler(earlier)
    formatter = (
        JsonFormatter(tracebacks=debug, contexts=_contexts)
        if format == "json"
        else TextFormatter(tracebacks=debug, contexts=_contexts, colour=_takes_colour(target))
    )
    root.addHandler(LineHandler(LineWriter(target), formatter))
    logging.captureWarnings(capture=True)


class LineHandler(logging.Handler):
    """Hands finished lines to a writer, and says how many were lost once lines get through again."""

    def __init__(self, writer: LineWriter, formatter: logging.Formatter) -> None:
        super().__init__()
        self._writer = writer
        self.setFormatter(formatter)

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
        except Exception as error:  # noqa: BLE001 - a value that can't be shown must not harm who logs it
            line = self.format(_note(logging.ERROR, "log line could not be formatted", line=record.msg, error=error))
        if (lost := self._writer.lost) and self._writer.writable:
            self._writer.forgive()
            self._writer.write(self.format(_note(logging.WARNING, "log lines were lost", lines=lost)) + "\n")
        self._writer.write(line + "\n")


class _Levels:
    """What loggers made after `setup` begin with: the process has one verbosity, as it has one standard error."""

    own = logging.INFO


_levels = _Levels()


def _note(level: int, event: str, **fields: object) -> logging.LogRecord:
    record = logging.LogRecord(__name__, level, "", 0, event, None, None)
    record.__dict__.update(fields=fields, unexpected=None)
    return record


def _takes_colour(stream: IO[str] | None) -> bool:
    return (
        stream is not None and stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )
