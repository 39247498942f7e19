"""`chaosctl bench`: what it tells, what it asks of the machine, and that nothing is left of it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from chaos.bench.catalogue import CATALOGUE
from chaos.ctl import main


def chaosctl(*words):
    return CliRunner().invoke(main, ["bench", *map(str, words)], prog_name="chaosctl")


def test_the_list_names_each_with_its_unit_and_limit():
    listed = json.loads(chaosctl("--list", "-o", "json").stdout)
    assert [one["name"] for one in listed] == list(CATALOGUE)
    assert all(one["unit"] and one["what"] and one["limit"] for one in listed)
    assert all(name in chaosctl("--list").stdout for name in CATALOGUE)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "name a benchmark, or give --all: guarded-writes, "),
        (("nonsense",), "'nonsense' is not one of"),
        (("guarded-writes", "--runs", "0"), "--runs"),
    ],
)
def test_a_usage_error_is_one_line(words, problem):
    result = chaosctl(*words)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert problem in result.stderr


def test_a_machine_without_an_etcd_is_told_what_to_do(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("lockd.etcd.binary.bundled_etcd", lambda: None)
    result = chaosctl("guarded-writes")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: no etcd found on PATH: install etcd 3.4 or newer")


@pytest.mark.etcd
@pytest.mark.slow
def test_a_small_run_gives_a_figure_beside_its_limit_and_leaves_nothing(tmp_path):
    words = ("bench", "scheduling-1000", "--runs", "1", "--pods", "500", "--dir", str(tmp_path), "-o", "json")
    command = [sys.executable, "-m", "chaos", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=110, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["name"] == "scheduling-1000"
    assert document["runs"] == [document["median"]]
    assert document["limit"]["median"] > 0
    assert document["ratio"] == pytest.approx(document["median"] / document["limit"]["median"], abs=1e-3)
    (details,) = document["details"]
    assert details["renewalsOffPeriod"]["count"] >= 0
    leader = next(name for name in details["cpuSeconds"] if name.endswith("(leader)"))
    assert details["cpuSeconds"][leader] > 0
    assert sorted(name.partition(" ")[0] for name in details["cpuSeconds"]) == [
        "bench", "creator", "etcd-1", "etcd-2", "etcd-3", "replica-1", "replica-2", "replica-3",
    ]  # fmt: skip
    assert list(tmp_path.iterdir()) == []
