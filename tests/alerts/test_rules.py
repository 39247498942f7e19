"""The alert rules: each fires, clears, leads to a page that helps, and is silent in an ordinary hand-off."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.harness.programs import program

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "compose" / "prometheus" / "alerts.yml"
CASES = sorted((Path(__file__).parent / "rules").glob("*.yml"))
ALERTS = {rule["alert"]: rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]}


@pytest.fixture
def promtool():
    """Runs promtool; what it said, once it is content."""
    path = program("promtool", package="prometheus")

    def run(*arguments):
        done = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def anchors(page):
    """What headings of a page can be linked to by."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_prometheus_can_load_them(promtool):
    assert f"{len(ALERTS)} rules found" in promtool("check", "rules", RULES)


@pytest.mark.parametrize("config", sorted(RULES.parent.glob("prometheus*.yml")), ids=lambda path: path.stem)
def test_the_cluster_in_docker_has_them(promtool, config):
    promtool("check", "config", "--syntax-only", config)
    assert yaml.safe_load(config.read_text())["rule_files"] == [f"/etc/prometheus/{RULES.name}"]


@pytest.mark.parametrize("case", CASES, ids=lambda path: path.stem)
def test_a_rule_does_as_told(promtool, case):
    assert "SUCCESS" in promtool("test", "rules", case)


@pytest.mark.parametrize("alert", ALERTS)
def test_each_is_seen_firing_and_clearing(alert):
    tests = [test for case in CASES for test in yaml.safe_load(case.read_text())["tests"]]
    seen = [
        (check["eval_time"], bool(check["exp_alerts"]))
        for test in tests
        for check in test.get("alert_rule_test", ())
        if check["alertname"] == alert
    ]
    assert {fires for _, fires in seen} == {True, False}


@pytest.mark.parametrize("alert", ALERTS)
def test_each_says_how_bad_it_is_and_where_help_is(alert):
    rule = ALERTS[alert]
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert set(rule["annotations"]) == {"summary", "description", "runbook"}
    page, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert anchor in anchors(ROOT / page)
