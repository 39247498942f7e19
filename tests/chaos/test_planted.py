"""Each planted bug is found by a scenario that is shipped, each time, and by the check that is meant to.

That the same scenarios pass without a bug is shown by `tests/chaos/test_scenarios.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest

from chaos.checks import CHECKS
from chaos.scenario import loading
from tests.chaos.planted.patching import PatchError, patch

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Planted:
    """A bug, where it shows, and what shows it."""

    bug: str
    scenario: str
    check: str
    rule: str


BUGS = (
    Planted("unfenced_bind", "late-binds", "fenced-writes", "stale-token"),
    Planted("renewal_from_reply", "late-renewal-reply", "beliefs", "belief-overlap"),
    Planted("hanging_exit", "stop-leader", "exits", "exit-late"),
    Planted("foreign_release", "false-evidence", "one-term", "foreign-release"),
    Planted("no_barrier", "burst", "barrier", "stale-view"),
    Planted("unsettled_is_failed", "lost-acquire-reply", "real-time", "untold-term"),
    Planted("dropped_events", "full-cluster", "capacity", "overcommit"),
    Planted("presence_timeout", "silent-presence", "evidence", "unfounded-evidence"),
)
IN_EVERY_TEST = "dropped_events"
"""Found by `make test` already."""


def found(planted, folder):
    """Run its scenario once, on replicas that have the bug."""
    command = [sys.executable, "-m", "tests.chaos.planted.chaosctl", planted.bug, "run", planted.scenario]
    command += ["--fast", "--trials=1", f"--dir={folder / 'out'}", "-o", "json"]
    environment = {**os.environ, "TMPDIR": str(folder)}
    ran = subprocess.run(command, capture_output=True, text=True, timeout=380, check=False, env=environment, cwd=ROOT)
    assert ran.returncode == 4, f"{ran.stdout}\n{ran.stderr}"
    checks = {check["name"]: check for check in json.loads(ran.stdout)["checks"]}
    assert not checks[planted.check]["ok"], ran.stdout
    evidence = [each for each in checks[planted.check]["evidence"] if each["rule"] == planted.rule]
    assert evidence, ran.stdout
    assert evidence[0]["message"]
    kept = (folder / "out" / "kept-1" / "evidence.txt").read_text(encoding="utf-8")
    assert f"check {planted.check}: {planted.rule}: " in kept


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("planted", BUGS, ids=lambda planted: planted.bug)
def test_a_planted_bug_is_found(planted, tmp_path):
    found(planted, tmp_path)


@pytest.mark.timeout(400)
def test_a_planted_bug_is_found_each_time(tmp_path):
    (planted,) = (each for each in BUGS if each.bug == IN_EVERY_TEST)
    found(planted, tmp_path)


def test_there_are_a_scenario_a_check_and_a_row_in_the_docs_for_each():
    table = (ROOT / "docs" / "chaos.md").read_text(encoding="utf-8")
    for planted in BUGS:
        assert planted.scenario in loading.names()
        assert planted.check in CHECKS
        assert f"| `{planted.scenario}` | `{planted.check}` | `{planted.rule}` |" in table
    here = {path.stem for path in (Path(__file__).parent / "planted").glob("*.py")}
    assert here - {planted.bug for planted in BUGS} == {"stalled_write", "patching", "chaosctl"}


@pytest.mark.parametrize("bug", [*(planted.bug for planted in BUGS), "stalled_write"])
def test_each_bug_still_has_its_place(bug, monkeypatch):
    monkeypatch.setenv("LOCKD_STALL_FILE", "/nowhere")
    module = import_module(f"tests.chaos.planted.{bug}")
    child = os.fork()
    if not child:
        leave = os._exit
        try:
            module.plant()
        except BaseException:  # noqa: BLE001 - told by the code
            leave(1)
        leave(0)
    assert os.waitpid(child, 0)[1] == 0


class Changed:
    """Stands for code that a bug was written for, and that has been changed since."""

    def method(self, one, two):
        """What there is."""


@pytest.mark.parametrize(("name", "takes"), [("gone", "self one two"), ("method", "self one")])
def test_a_bug_without_its_place_is_said_to_be(name, takes):
    with pytest.raises(PatchError, match=f"Changed.*{name}"):
        patch(Changed, name, takes, lambda present: present)
