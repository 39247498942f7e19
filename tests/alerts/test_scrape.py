"""A real Prometheus scrapes real replicas: what rules and dashboards ask for is answered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.crew import pod
from tests.harness.local import nodes
from tests.harness.prometheus import prometheus
from tests.harness.replicas import HOST, STEADY
from tests.harness.wait import eventually

pytestmark = [pytest.mark.etcd, pytest.mark.timeout(300)]

DASHBOARDS = Path(__file__).resolve().parents[2] / "compose" / "grafana" / "dashboards"
WITHIN = 90.0


def queries():
    for path in sorted(DASHBOARDS.glob("*.json")):
        for panel in json.loads(path.read_text(encoding="utf-8"))["panels"]:
            for target in panel.get("targets", ()):
                yield target["expr"].replace("$__rate_interval", "1m").replace("$job", "replica")


def test_rules_and_dashboards_are_answered_by_a_leader_and_a_standby(crew, etcd, tmp_path):
    crew.timing = STEADY
    first, second = crew.start("a"), crew.start("b")
    with prometheus(tmp_path / "prometheus") as watching:
        watching.scrape({"replica": [f"{HOST}:{each.port}" for each in (first, second)], "etcd": etcd.endpoints})
        crew.until_ready(first, second, within=WITHIN)
        crew.create(nodes(1))
        crew.create(pod("one"))
        crew.until_bound(1, within=WITHIN)
        leaders = "count(leader_election_master_status == 1)"
        eventually(lambda: watching.value(leaders) == 1, within=WITHIN, what="one leader is seen")
        eventually(lambda: watching.value("count(up == 1)") == 3, within=WITHIN, what="all are scraped")
        bound = 'sum(scheduler_schedule_attempts_total{result="scheduled"})'
        eventually(lambda: watching.value(bound) == 1, within=WITHIN, what="its pod is counted")
        eventually(lambda: all(rule["health"] == "ok" for rule in watching.rules()), within=WITHIN)
        assert len(watching.rules()) == 8
        assert [expr for expr in queries() if watching.query(expr) is None] == []
        assert watching.firing() == set()
