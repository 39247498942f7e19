"""The command `chaosctl hurt`, as far as it needs no cluster."""

import pytest
from click.testing import CliRunner

from chaos.ctl import main
from chaos.faults import registry


def hurt(*words):
    return CliRunner(env={"CHAOSCTL_DIR": None}).invoke(main, ["hurt", *map(str, words)])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["leader", "--kill"], "error: no cluster is named: give --dir (env var: 'CHAOSCTL_DIR')"),
        (["leader", "--kil", "--dir=."], "error: No such option '--kil'"),
        (["leeder", "--kill", "--dir=."], "error: 'leeder' is no role: did you mean leader"),
        (["leader", "--dir=."], "error: no fault is named"),
        (["leader", "--shift-clock", "-1s", "--dir=."], "error: shift-clock: by: must be 5s at least"),
    ],
    ids=["no folder", "no such fault", "no such role", "no fault", "a bad value"],
)
def test_a_mistake_is_one_line(words, told):
    done = hurt(*words)
    assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert done.stderr.startswith(told)


def test_a_folder_without_a_cluster_is_named(tmp_path):
    done = hurt("leader", "--kill", f"--dir={tmp_path}")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"error: {tmp_path}: no cluster.json here: name the folder that `chaosctl up` printed\n"


def test_the_help_has_its_examples_one_a_line():
    text = hurt("--help").stdout
    assert "\\b" not in text
    lines = [line.strip() for line in text.splitlines()]
    assert lines.index("chaosctl hurt leader --pause 20s") == lines.index("chaosctl hurt leader --kill") + 1


def test_the_help_names_every_fault():
    text = hurt("--help").stdout
    assert all(f"--{name}" in text for name in registry.FAULTS)
