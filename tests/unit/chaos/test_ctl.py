import json

import pytest
from click.testing import CliRunner

from chaos.ctl import main


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
