import json

import pytest
from click.testing import CliRunner

from chaos.ctl import main
from chaos.errors import Interrupted


@pytest.fixture
def run():
    return lambda *words: CliRunner().invoke(main, [str(word) for word in words])


def test_down_of_a_folder_without_a_cluster(run, tmp_path):
    result = run("down", "--dir", tmp_path)
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        f"error: {tmp_path}: no cluster.json here: name the folder that `chaosctl up` printed"
    ]


def test_trace_of_a_folder_without_traces(run, tmp_path):
    result = run("trace", tmp_path)
    assert result.exit_code == 2
    assert "no trace/*.jsonl here" in result.stderr


def test_trace_without_a_hand_off(run, tmp_path):
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / "replica-1.0.jsonl").write_text("\n")
    result = run("trace", tmp_path, "-o", "json")
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"handoffs": []})
    assert "no hand-off" in result.stderr


def test_a_demo_that_fails_names_the_folder_it_leaves(run, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise Interrupted("stopped by a signal; the cluster is taken down")

    monkeypatch.setattr("chaos.ctl.run", interrupted)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = run("demo")
    (left,) = tmp_path.iterdir()
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == f"logs and traces are left in {left}: remove them with: rm -r {left}"
    given = run("demo", "--dir", tmp_path / "given")
    assert given.stderr.splitlines()[-1] == f"logs and traces are left in {tmp_path / 'given'}"
