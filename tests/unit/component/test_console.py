import errno
import io
import json

import click
import pytest
import yaml
from click.testing import CliRunner

from component import console

HALF = "web-\udc80"
"""Half of a surrogate pair: what a byte that isn't UTF-8 becomes, and UTF-8 has no bytes for."""


@click.group("tool", cls=console.OneLineGroup)
def tool():
    """A tool."""


@tool.command()
def interrupted():
    raise KeyboardInterrupt


@tool.command()
@click.option("--number", type=int)
def fine(number):
    console.say(f"number {number}")


class Full(io.StringIO):
    """A stream that takes nothing."""

    def __init__(self, number):
        super().__init__()
        self.number = number

    def write(self, _text):
        raise OSError(self.number, "No room")


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_what_utf8_does_not_have_is_escaped_in_documents(capsys, form, read):
    console.show({"name": HALF, "city": "Zürich"}, form)
    assert read(capsys.readouterr().out) == {"name": HALF, "city": "Zürich"}


def test_what_utf8_does_not_have_is_escaped_in_text(capsys):
    console.say(f"Zürich {HALF}")
    assert capsys.readouterr().out == "Zürich web-\\udc80\n"


def test_a_full_disk_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout", Full(errno.ENOSPC))
    with pytest.raises(SystemExit) as left:
        console.say("text")
    assert left.value.code == 1
    assert capsys.readouterr().err == "error: can't write to standard output: No room\n"


def test_a_reader_that_has_left_is_told_nothing(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdout", Full(errno.EPIPE))
    with pytest.raises(SystemExit) as left:
        console.say("text")
    assert (left.value.code, capsys.readouterr().err) == (1, "")


def test_without_arguments_the_help_is_shown_as_it_is():
    result = CliRunner().invoke(tool, [])
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: tool [OPTIONS] COMMAND [ARGS]...\n\n  A tool.\n")


def test_the_program_is_named_however_it_was_started(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["main.py"])
    with pytest.raises(SystemExit) as left:
        tool.main(["fine", "--number=x"])
    assert left.value.code == 2
    assert capsys.readouterr().err.endswith("(see tool fine --help)\n")


def test_an_interrupted_command_exits_130():
    assert CliRunner().invoke(tool, ["interrupted"]).exit_code == 130
