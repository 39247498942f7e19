import json
import shlex

import pytest
from click.testing import CliRunner

from chaos.ctl import main
from chaos.errors import Interrupted, TooSlow
from chaos.faults.errors import NotAvailable


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


@pytest.mark.parametrize("words", [[], ["--pod", "web-1"]])
def test_trace_of_a_file_that_is_none(run, tmp_path, words):
    file = tmp_path / "passwd"
    file.write_text("root:x:0:0:root:/root:/bin/bash\n{}\n")
    result = run("trace", file, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"error: {file}: holds no span: name a file of OTLP JSON lines, or a folder of such\n"


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


@pytest.mark.parametrize("words", [["--detach"], []], ids=["detached", "kept"])
def test_a_cluster_that_is_given_up_names_the_folder_it_leaves(run, tmp_path, monkeypatch, words):
    def interrupted(plan, *_, **__):
        plan.logs.mkdir(parents=True)
        raise Interrupted("stopped by a signal before the cluster was healthy; it is taken down")

    monkeypatch.setattr("chaos.ctl._detach", interrupted)
    monkeypatch.setattr("chaos.ctl.supervise", interrupted)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = run("up", *words)
    (left,) = tmp_path.iterdir()
    assert result.exit_code == 130
    assert result.stderr.splitlines()[1:] == [f"logs and traces are left in {left}: remove them with: rm -r {left}"]
    assert len(run("up", *words, "--dir", tmp_path / "given").stderr.splitlines()) == 1


def test_a_cluster_that_can_not_be_equipped_leaves_no_folder(run, tmp_path, monkeypatch):
    def refused(*_, **__):
        raise NotAvailable("no C compiler")

    monkeypatch.setattr("chaos.ctl.equipped", refused)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    result = run("up", "--clocks")
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1), result.stderr
    assert list(tmp_path.iterdir()) == []


def test_list_tells_what_each_scenario_teaches(run):
    result = run("list", "-o", "json")
    known = {each["name"]: each for each in json.loads(result.stdout)}
    assert result.exit_code == 0
    assert len(known) >= 20
    assert {"kill-leader", "everything-at-once"} <= set(known)
    assert all(each["teaches"].endswith(".") for each in known.values())
    tagged = {each["name"] for each in json.loads(run("list", "--tag", "keys", "-o", "json").stdout)}
    assert "delete-lease" in tagged
    assert "kill-leader" not in tagged
    assert "pause" in run("list", "--faults").stdout


def test_validate_tells_every_problem_of_every_file(run, tmp_path):
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("title: t\ndescription: d.\nmethod: [{fault: kill}]\n")
    bad.write_text("title: t\ndescription: d.\nmethod: [{fault: kil, at: soon}, {fault: compact, target: leader}]\n")
    result = run("validate", good, bad, tmp_path / "none.yaml")
    assert result.exit_code == 2
    assert result.stdout == f"{good}: ok\n"
    (_, *told) = sorted(result.stderr.splitlines(), key=lambda line: "none.yaml" not in line)
    assert [line.split(": ")[2] for line in told] == ["method[0].at", "method[0].fault", "method[1].target"]
    assert run("validate", good).exit_code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "kill-leadr"), "error: kill-leadr: no such scenario: did you mean kill-leader?"),
        (("run", "kill-leader", "--fail-if", "luck>1"), "'luck>1' is no threshold"),
        (("run", "kill-leader", "--fail-if", "failover_ms.p99>nan"), "'nan' is no limit: write milliseconds"),
        (("compare", ".", ".", "--ratio", "nan"), "'--ratio': 'nan' is not finite"),
        (("compare", ".", ".", "--ratio", "inf"), "'--ratio': 'inf' is not finite"),
        (("compare", ".", ".", "--ratio", "1e999"), "'--ratio': '1e999' is not finite"),
        (("compare", ".", ".", "--ratio", "0.9"), "'--ratio': 0.9 is not in the range"),
        (("stream", "--rate", "nan"), "'--rate': 'nan' is not finite"),
        (("run", "kill-leader", "--trials", "0"), "--trials"),
        (("run", "kill-leader", "--backend", "cloud"), "--backend"),
    ],
)
def test_what_can_not_begin(run, words, told):
    result = run(*words)
    assert result.exit_code == 2
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_what_tells_of_a_failed_run_stays_and_of_one_that_passed_nothing(run, tmp_path, monkeypatch):
    def failed(order, *_, **__):
        (order.folder / "journal.json").write_text("{}")
        raise SystemExit(4)

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("chaos.runner.commands._run", lambda *_, **__: None)
    assert run("run", "kill-leader").exit_code == 0
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr("chaos.runner.commands._run", failed)
    result = run("run", "kill-leader")
    (left,) = tmp_path.iterdir()
    assert (result.exit_code, [path.name for path in left.iterdir()]) == (4, ["journal.json"])


def test_the_command_that_repeats_a_run_has_its_thresholds(run, monkeypatch):
    orders = []
    monkeypatch.setattr("chaos.runner.commands._run", lambda order, *_, **__: orders.append(order))
    assert (
        run("run", "kill-leader", "--fail-if", "failover_ms.p99>500", "--fail-if", "failover_ms.count<3").exit_code == 0
    )
    (order,) = orders
    assert shlex.split(order.command)[-2:] == ["--fail-if=failover_ms.p99>500", "--fail-if=failover_ms.count<3"]


def test_a_cluster_that_did_not_come_up_leaves_its_logs(run, tmp_path, monkeypatch):
    def failed(order, *_, **__):
        (order.folder / "cluster-1").mkdir()
        raise TooSlow("not healthy within 60 s")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("chaos.runner.commands._run", failed)
    result = run("run", "kill-leader")
    (left,) = tmp_path.iterdir()
    assert result.exit_code == 3
    assert result.stderr.splitlines()[-1] == f"logs are left in {left}: remove them with: rm -r {left}"
