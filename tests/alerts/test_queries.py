"""What rules and dashboards ask for is there."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.harness.etcd_metrics import ETCD
from tests.harness.golden import golden
from tests.harness.programs import program
from tests.harness.promql import Reader, Vector, selectable
from tools.dashboards import DASHBOARDS

ROOT = Path(__file__).resolve().parents[2]
METRICS = {**golden(), **ETCD}
RULES = yaml.safe_load((ROOT / "compose" / "prometheus" / "alerts.yml").read_text(encoding="utf-8"))["groups"]
FILES = sorted((ROOT / "compose" / "grafana" / "dashboards").glob("*.json"))
LEGEND = re.compile(r"{{\s*(\w+)\s*}}")
LABELS = re.compile(r"\$labels\.(\w+)")


def panels(path):
    return [panel for panel in json.loads(path.read_text(encoding="utf-8"))["panels"] if panel["type"] != "row"]


def asked(path):
    """Each query of a dashboard, with the legend that names its labels."""
    document = json.loads(path.read_text(encoding="utf-8"))
    yield from ((mark["expr"], mark["titleFormat"]) for mark in document["annotations"]["list"])
    for panel in panels(path):
        yield from ((target["expr"], target["legendFormat"]) for target in panel["targets"])


@pytest.mark.parametrize("rule", [rule for group in RULES for rule in group["rules"]], ids=lambda rule: rule["alert"])
def test_an_alert_asks_for_what_is_there_and_names_what_it_gets(rule):
    found = Reader(rule["expr"], METRICS).read()
    found.require(LABELS.findall(" ".join(rule["annotations"].values())), "annotations name")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_dashboard_asks_for_what_is_there_and_names_what_it_gets(path):
    for expr, legend in asked(path):
        found = Reader(expr, METRICS).read()
        found.require(LEGEND.findall(legend), f"the legend of {expr} names")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_a_dashboard_chooses_from_is_there(path):
    for variable in json.loads(path.read_text(encoding="utf-8"))["templating"]["list"]:
        if variable["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["definition"]).groups()
            Vector(selectable(metric, METRICS)[0] | {"job", "instance"}).require([label], "label_values of")


def test_prometheus_understands_each_query(tmp_path):
    promtool = program("promtool", package="prometheus")
    queries = [expr.replace("$__rate_interval", "1m") for path in FILES for expr, _ in asked(path)]
    rules = [{"record": f"q{number}", "expr": expr} for number, expr in enumerate(queries)]
    path = tmp_path / "rules.yml"
    path.write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}), encoding="utf-8")
    done = subprocess.run([promtool, "check", "rules", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_files_are_those_that_are_generated():
    assert {str(path.relative_to(ROOT)) for path in FILES} == set(DASHBOARDS)
    assert {
        path: (ROOT / path).read_text(encoding="utf-8") == board.render() for path, board in DASHBOARDS.items()
    } == (dict.fromkeys(DASHBOARDS, True))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_panels_have_a_place_of_their_own(path):
    taken = set()
    for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24
        assert not cells & taken, panel["title"]
        taken |= cells
