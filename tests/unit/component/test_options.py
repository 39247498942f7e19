"""Options that several commands share."""

import click
import pytest
from click.testing import CliRunner

from component.options import with_options

BOTH = (click.option("--host", default="here", help="Where."), click.option("--port", type=int, default=1))


def run(command, *words):
    return CliRunner().invoke(click.command()(command), words)


def test_a_command_has_them_in_their_order():
    def command(host, port):
        click.echo(f"{host}:{port}")

    made = with_options(command, BOTH)
    assert run(made, "--host=there", "--port=2").stdout == "there:2\n"
    help_of = run(with_options(command, BOTH), "--help").stdout
    assert 0 < help_of.index("--host") < help_of.index("--port")


def test_what_is_taken_is_given_in_another_form_and_the_rest_as_it_is():
    def command(*, address, port):
        """Tells it."""
        click.echo(f"{address} {port}")

    made = with_options(command, BOTH, lambda values: {"address": values.pop("host").upper()})
    assert made.__doc__ == "Tells it."
    assert run(made, "--port=2").stdout == "HERE 2\n"


def test_what_can_not_be_used_is_told_as_the_command_would():
    def refuse(values):
        raise click.UsageError(f"no {values['host']}")

    done = run(with_options(pytest.fail, BOTH, refuse))
    assert (done.exit_code, done.stderr.splitlines()[-1]) == (2, "Error: no here")


def test_several_of_them_make_one():
    def command(*, both, more):
        click.echo(f"{both} {more}")

    inner = with_options(command, BOTH, lambda values: {"both": (values.pop("host"), values.pop("port"))})
    assert run(with_options(inner, [click.option("--more", default=3)])).stdout == "('here', 1) 3\n"
