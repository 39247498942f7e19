from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import re
from enum import Enum
from pathlib import Path

import pytest

from component import logs
from component.logformat import plain
from component.logstream import LineWriter


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def _clean():
    contexts = list(logs._contexts)
    yield
    logs._contexts[:] = contexts
    root = logging.getLogger()
    root.handlers = [handler for handler in root.handlers if not isinstance(handler, logs.LineHandler)]
    logging.captureWarnings(capture=False)


def begin(**options):
    stream = options.pop("stream", None) or io.StringIO()
    logs.setup(stream=stream, **options)
    return stream


def test_text_is_one_line_of_time_level_event_and_fields():
    stream = begin()
    logs.get("component.test").info("lease acquired", token=7, holder="a b", empty="", ok=True, names=("x", "y"))
    assert re.fullmatch(
        r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z INFO lease acquired token=7 holder="a b" empty="" ok=true '
        r'names=\["x","y"\]\n',
        stream.getvalue(),
    )


def test_json_is_one_object_a_line_with_the_fields_beside():
    stream = begin(format="json")
    logs.get("component.test").warning("lease lost", token=7, path=Path("/x"), event="own", ts=1)
    line = json.loads(stream.getvalue())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", line.pop("ts"))
    assert line == {
        "level": "WARNING",
        "logger": "component.test",
        "event": "lease lost",
        "token": 7,
        "path": "/x",
        "event_": "own",
        "ts_": 1,
    }


@pytest.mark.parametrize(("verbosity", "shown"), [(-1, "WE"), (0, "IWE"), (3, "IWE"), (4, "DIWE")])
def test_verbosity_is_kubernetes_scale(verbosity, shown):
    stream = begin(verbosity=verbosity)
    log = logs.get("component.test")
    for say in (log.debug, log.info, log.warning, log.error):
        say("x")
    assert "".join(line.split()[1][0] for line in stream.getvalue().splitlines()) == shown


def test_a_logger_made_before_or_after_the_set_up_follows_it():
    before = logs.get("early.module")
    stream = begin(verbosity=4)
    before.debug("one")
    logs.get("late.module").debug("two")
    assert [line.split()[2] for line in stream.getvalue().splitlines()] == ["one", "two"]


def test_a_later_set_up_replaces_an_earlier_one():
    first, second = begin(), begin()
    logs.get("component.test").info("x")
    assert first.getvalue() == ""
    assert second.getvalue().count("\n") == 1


def test_bound_fields_come_with_each_event():
    stream = begin()
    logs.get("component.test").bind(identity="a").info("x", token=1)
    assert stream.getvalue().endswith("x identity=a token=1\n")


def test_an_expected_error_shows_its_type_and_message_only():
    stream = begin()
    logs.get("component.test").error("write failed", error=OSError("disk full"))
    assert stream.getvalue().endswith('write failed error="OSError: disk full"\n')


def test_an_expected_error_has_its_traceback_at_debug():
    stream = begin(format="json", verbosity=4)
    logs.get("component.test").error("write failed", error=OSError("disk full"))
    assert "OSError: disk full" in json.loads(stream.getvalue())["traceback"]


def test_an_unexpected_error_always_has_its_traceback():
    stream = begin(format="json")
    try:
        raise KeyError("k")  # noqa: TRY301 - a real traceback is wanted
    except KeyError as error:
        logs.get("component.test").exception("handler failed", error)
    line = json.loads(stream.getvalue())
    assert line["error"] == "KeyError: 'k'"
    assert "test_an_unexpected_error_always_has_its_traceback" in line["traceback"]


def test_other_packages_warn_in_the_same_form():
    stream = begin()
    logging.getLogger("grpc._channel").info("hidden")
    logging.getLogger("grpc._channel").warning("bad %s\nthing", "x")
    assert stream.getvalue().endswith("WARNING bad x\\nthing logger=grpc._channel\n")
    assert stream.getvalue().count("\n") == 1


@pytest.mark.parametrize("hostile", ["a\nb", "\x1b[2J", "a\x9bb", 'say "x"', "k=v"])
def test_no_value_breaks_its_line_or_steers_a_terminal(hostile):
    stream = begin()
    logs.get("component.test").info("x", value=hostile)
    line = stream.getvalue().removesuffix("\n")
    assert line.isprintable()
    assert json.loads(line.partition("value=")[2]) == hostile


def test_colour_is_for_terminals_without_no_color(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = begin(stream=Terminal())
    logs.get("component.test").info("x")
    monkeypatch.setenv("NO_COLOR", "1")
    plain_one = begin(stream=Terminal())
    logs.get("component.test").info("x")
    assert "\x1b[32mINFO\x1b[0m" in coloured.getvalue()
    assert "\x1b" not in plain_one.getvalue()


def test_context_is_added_to_each_line():
    logs.use_context(lambda: {"trace_id": "t", "span_id": "s"})
    text, log = begin(), logs.get("component.test")
    log.info("x")
    assert text.getvalue().endswith("x trace_id=t span_id=s\n")
    as_json = begin(format="json")
    log.info("x")
    assert json.loads(as_json.getvalue())["span_id"] == "s"


def test_a_value_that_cannot_be_shown_harms_nobody():
    class Bad:
        def __str__(self):
            raise RuntimeError("no")

    stream = begin()
    logs.get("component.test").info("x", value=Bad())
    assert 'log line could not be formatted line=x error="RuntimeError: no"' in stream.getvalue()


def test_plain_values():
    class Colour(Enum):
        RED = "red"

    assert plain({1: [Colour.RED, b"\xff", float("nan"), None, 2.5, {"a"}]}) == {
        "1": ["red", "\\xff", "nan", None, 2.5, ["a"]]
    }
    assert plain(TimeoutError()) == "TimeoutError"


def drained(fd):
    """What a pipe holds now."""
    os.set_blocking(fd, False)
    got = b""
    with contextlib.suppress(BlockingIOError):
        while data := os.read(fd, 65536):
            got += data
    return got


class TestStalledReader:
    """The reader of a pipe stops reading: who logs goes on, and the loss is told."""

    @pytest.fixture
    def pipe(self):
        reading, writing = os.pipe()
        stream = os.fdopen(writing, "w")
        yield reading, stream
        os.close(reading)
        stream.close()

    def test_lines_are_lost_counted_and_told(self, pipe):
        reading, stream = pipe
        begin(stream=stream)
        log = logs.get("component.test")
        for number in range(200):
            log.info("fill", number=number, padding="x" * 1000)  # 200 kB into a pipe of 64 kB
        got = drained(reading)
        log.info("after")
        got += drained(reading)
        assert b"WARNING log lines were lost lines=" in got
        assert got.endswith(b"INFO after\n")
        whole = [line for line in got.splitlines() if b"fill" in line]
        lost = int(re.search(rb"lines=(\d+)", got)[1])
        assert lost + len([line for line in whole if line.endswith(b"x" * 1000)]) == 200

    def test_a_line_that_was_cut_off_does_not_spoil_the_next(self, pipe):
        reading, stream = pipe
        writer = LineWriter(stream)
        writer.write("x" * 100_000 + "\n")
        assert writer.lost == 1
        assert drained(reading).strip(b"x") == b""
        writer.write("next\n")
        assert drained(reading) == b"\nnext\n"

    def test_a_reader_that_is_gone_is_no_error(self, pipe):
        reading, stream = pipe
        writer = LineWriter(stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), reading)
        writer.write("x\n")
        assert writer.lost == 1


def test_a_closed_stream_is_no_error():
    stream = io.StringIO()
    writer = LineWriter(stream)
    stream.close()
    writer.write("x\n")
    assert writer.lost == 1


def test_a_closed_standard_error_loses_lines_quietly(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    logs.setup()
    logs.get("component.closed").warning("nobody reads this")
