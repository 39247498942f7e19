"""A real Prometheus that scrapes what a test names, with the shipped alert rules."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from chaos.cluster.plan import HOST, environment
from component.process import Child
from lockd.etcd.loopback import free_ports
from tests.harness.programs import program
from tests.harness.wait import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

RULES = Path(__file__).resolve().parents[2] / "compose" / "prometheus" / "alerts.yml"
UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
DURATION = re.compile(r"(\d+)(ms|s|m|h)")
TOLD = 300.0
"""Seconds from which on a duration is a matter of how long people are told, not of leases."""


class Prometheus:
    """One that runs. What it scrapes may change at any time."""

    def __init__(self, folder: Path, port: int, child: Child) -> None:
        self._folder = folder
        self._port = port
        self.child = child

    def scrape(self, targets: Mapping[str, Sequence[str]]) -> None:
        """From now on scrape these, `host:port` by job, and nothing else."""
        groups = [{"targets": list(addresses), "labels": {"job": job}} for job, addresses in targets.items()]
        fresh = self._folder / "targets.new"
        fresh.write_text(json.dumps(groups), encoding="utf-8")
        fresh.replace(self._folder / "targets.json")

    def query(self, expr: str) -> list[dict[str, Any]]:
        """The series that an expression gives now: `metric` and `value` (when, what).

        Raises:
            AssertionError: It was refused.
        """
        return self._ask("query", query=expr)["result"]

    def value(self, expr: str) -> float | None:
        """The value of the one series that an expression gives; None: there is none, or more than one."""
        found = self.query(expr)
        return float(found[0]["value"][1]) if len(found) == 1 else None

    def firing(self) -> set[str]:
        """The names of the alerts that fire."""
        return {alert["labels"]["alertname"] for alert in self._ask("alerts")["alerts"] if alert["state"] == "firing"}

    def rules(self) -> list[dict[str, Any]]:
        """Each rule with its `health` and `lastError`."""
        return [rule for group in self._ask("rules")["groups"] for rule in group["rules"]]

    def until_firing(self, alert: str, *, within: float) -> None:
        eventually(lambda: alert in self.firing(), within=within, what=f"{alert} fires")

    def until_clear(self, alert: str, *, within: float) -> None:
        eventually(lambda: alert not in self.firing(), within=within, what=f"{alert} clears")

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{HOST}:{self._port}/-/ready", timeout=5.0) as reply:
                return reply.status == 200
        except OSError:
            return False

    def _ask(self, page: str, **parameters: str) -> Any:
        url = f"http://{HOST}:{self._port}/api/v1/{page}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=30.0) as reply:
                return json.load(reply)["data"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{parameters}: {error.read().decode()}") from error


def quickened(leases: float, told: float) -> dict[str, Any]:
    """The shipped rules for shorter leases: their durations, in expressions and `for`, multiplied; all else as it is.

    Args:
        leases: For what follows from the leases: a lease of the test's, in leases of the default.
        told: For how long people are told of what has been: durations from `TOLD` on.
    """

    def shorter(found: re.Match[str]) -> str:
        seconds = int(found[1]) * UNITS[found[2]]
        return f"{round(1000 * seconds * (told if seconds >= TOLD else leases))}ms"

    def in_brackets(found: re.Match[str]) -> str:
        return DURATION.sub(shorter, found[0])

    document = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    for rule in (rule for group in document["groups"] for rule in group["rules"]):
        rule["expr"] = re.sub(r"\[\w+\]|offset \w+", in_brackets, rule["expr"])
        if "for" in rule:
            rule["for"] = DURATION.sub(shorter, rule["for"])
    return document


@contextmanager
def prometheus(folder: Path, rules: dict[str, Any] | None = None, *, every: float = 0.5) -> Iterator[Prometheus]:
    """Run one.

    Args:
        rules: By default those that are shipped.
        every: Seconds between scrapes, and between looks at the rules.
    """
    path = program("prometheus", package="prometheus")
    folder.mkdir()
    (port,) = free_ports(1)
    shown = rules if rules is not None else yaml.safe_load(RULES.read_text(encoding="utf-8"))
    (folder / "rules.yml").write_text(json.dumps(shown), encoding="utf-8")
    interval = f"{round(every * 1000)}ms"
    config = {
        "global": {"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": interval},
        "rule_files": ["rules.yml"],
        "scrape_configs": [{"job_name": "all", "file_sd_configs": [{"files": ["targets.json"]}]}],
    }
    (folder / "prometheus.yml").write_text(json.dumps(config), encoding="utf-8")
    command = [
        *(path, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}"),
        *(f"--web.listen-address={HOST}:{port}", "--log.level=warn"),
    ]
    child = Child(command, log=folder / "prometheus.log", environment=environment())
    try:
        running = Prometheus(folder, port, child)
        running.scrape({})
        eventually(running.answers, within=60.0, what="Prometheus is ready")
        yield running
    finally:
        child.kill()
