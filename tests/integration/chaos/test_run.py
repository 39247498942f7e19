"""`chaosctl run`, whole, with the real thing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.harness.wait import eventually

PHASES = ("detected_ms", "elected_ms", "warm_ms", "first_bind_ms")


def chaosctl(*words, temporary):
    command = [sys.executable, "-m", "chaos", *map(str, words)]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    return subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, env=environment)


@pytest.mark.timeout(300)
def test_the_leader_is_killed_and_nothing_is_left_behind(tmp_path):
    ran = chaosctl("run", "kill-leader", "--trials", 1, "--seed", 11, "-o", "json", temporary=tmp_path)
    assert ran.returncode == 0, ran.stderr + ran.stdout
    document = json.loads(ran.stdout)
    assert list(document) == ["schema", "scenario", "backend", "seed", "trials", "summary", "checks"]
    assert (document["scenario"], document["backend"], document["seed"]) == ("kill-leader", "local", 11)
    (trial,) = document["trials"]
    assert trial["fault"] == "kill leader"
    times = [trial["phases"][phase] for phase in PHASES]
    assert times == sorted(times)
    assert times[0] > 0.0
    assert document["summary"]["failover_ms"]["p50"] == trial["phases"]["elected_ms"]
    assert document["summary"]["client_gap_ms"]["max"] == trial["client_gap_ms"] > 0.0
    assert {check["name"] for check in document["checks"] if not check["ok"]} == set()
    assert [(each["fault"], each["role"], each["trigger"], each["what"]) for each in trial["schedule"]] == [
        ("kill", "leader", "when", "bind-in-flight")
    ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_run_repeated_from_its_seed_has_the_same_schedule(tmp_path):
    scenario = tmp_path / "mine.yaml"
    scenario.write_text(
        "title: Two at a time\ndescription: Whatever is drawn is drawn again.\nmethod:\n"
        "- {fault: kill, target: standby, at: 100ms..400ms}\n"
        "- {fault: pause, target: random, after: renewal, nth: 2, lasts: 200ms}\n"
        "- {fault: kill, target: leader, when: bind-in-flight, nth: 2}\n"
        "drawn: {actions: 2, within: 1s, among: [{fault: pause, target: random, lasts: 100ms}]}\n"
    )
    found = []
    for folder in ("a", "b"):
        where = tmp_path / folder
        ran = chaosctl("run", scenario, "--trials", 2, "--seed", 3, "--dir", where, "-o", "json", temporary=tmp_path)
        assert ran.returncode == 0, ran.stderr + ran.stdout
        journal = json.loads((where / "journal.json").read_text())
        found.append([trial["schedule"] for trial in journal["trials"]])
        assert all(len(schedule) == 5 for schedule in found[-1])
    assert found[0] == found[1]
    assert found[0][0] != found[0][1]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "kill -9"])
def test_who_ends_it_in_the_middle_of_a_fault_leaves_no_process(tmp_path, number):
    scenario = tmp_path / "mine.yaml"
    scenario.write_text(
        "title: Stop for long\ndescription: Nobody waits for the end of this.\n"
        "method: [{fault: pause, target: leader, lasts: 100s}]\n"
    )
    folder = tmp_path / "temporary"
    folder.mkdir()
    command = [sys.executable, "-m", "chaos", "run", str(scenario)]
    environment = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as run:
        told = next(line for line in run.stderr if "trial 1: pause leader" in line)
        assert "is stopped" in told
        run.send_signal(number)
        run.stderr.read()
    assert run.returncode == (130 if number == signal.SIGINT else -number)
    eventually(lambda: not processes_of(folder), within=120.0, what="nothing of it runs")
    if number == signal.SIGINT:
        assert list(folder.iterdir()) == []


def processes_of(folder):
    """Whose command line names the folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if os.fsencode(folder) in path.read_bytes():
                found.append(path.parent.name)
    return found
