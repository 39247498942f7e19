"""The golden list of metrics: what is promised of each, and what a scrape shows."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from prometheus_client.parser import text_string_to_metric_families

LIST = Path(__file__).parents[1] / "golden" / "metrics.yaml"

LEADER, STANDBY, DAEMON, RESOURCES = "leader", "standby", "lockd", "leader-resources"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as dashboards and alerts rely on it.

    Attributes:
        type: gauge, counter or histogram.
        labels: Their names, sorted; without `le`.
        buckets: Upper bounds of a histogram, without the infinite one.
    """

    type: str
    labels: tuple[str, ...]
    buckets: tuple[float, ...] = ()


def elsewhere() -> dict[str, str]:
    """The metrics that no run of a cluster is sure to show, and where they are shown."""
    return {name: each["elsewhere"] for name, each in _listed().items() if "elsewhere" in each}


def golden(role: str = "") -> dict[str, Metric]:
    """The metrics of a role, or of all, by name as Prometheus has it (a counter's with `_total`)."""
    return {
        name: Metric(each["type"], tuple(each["labels"]), tuple(map(float, each.get("buckets", ()))))
        for name, each in _listed().items()
        if not role or role in each["roles"]
    }


def scraped(text: str) -> dict[str, Metric]:
    """The metrics of a scrape that has samples of them."""
    found = {}
    for family in text_string_to_metric_families(text):
        labels = {name for sample in family.samples for name in sample.labels if name != "le"}
        bounds = {float(sample.labels["le"]) for sample in family.samples if "le" in sample.labels}
        name = f"{family.name}_total" if family.type == "counter" else family.name
        if family.samples:
            found[name] = Metric(family.type, tuple(sorted(labels)), tuple(sorted(bounds - {float("inf")})))
    return found


def _listed() -> dict[str, Any]:
    listed: dict[str, Any] = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    return listed
