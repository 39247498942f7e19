"""The dashboards that are shipped; `make gen` writes them to compose/grafana/dashboards."""

from __future__ import annotations

from typing import Final

from tools.dashboards.election import ELECTION
from tools.dashboards.etcd import ETCD
from tools.dashboards.scheduler import SCHEDULER

DASHBOARDS: Final = {
    "compose/grafana/dashboards/election.json": ELECTION,
    "compose/grafana/dashboards/scheduler.json": SCHEDULER,
    "compose/grafana/dashboards/etcd.json": ETCD,
}
"""By the files that Grafana is provisioned with."""
