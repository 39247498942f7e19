"""Grafana's dashboards as values: what a person decides of them, and the JSON that follows from it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

SCHEMA: Final = 41
"""Grafana 12's; an older one reads it too, a newer one brings it up to its own."""

SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
WIDTH: Final = 24


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel; `legend` names its series, with labels in double braces."""

    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel.

    Attributes:
        kind: timeseries, stat, state-timeline or bargauge.
        unit: Grafana's name of it, such as s, reqps, short, bytes, percentunit.
        about: What a reader is to know; shown with the title.
        above: Values from here on are red; None: no value is bad.
        below: Values up to here are red.
        stacked: Are the series parts of a sum?
        states: What a value means, by value: text and colour.
        width, height: In Grafana's grid, 24 wide.
    """

    title: str
    queries: tuple[Query, ...]
    kind: str = "timeseries"
    unit: str = "short"
    about: str = ""
    above: float | None = None
    below: float | None = None
    stacked: bool = False
    states: tuple[tuple[int, str, str], ...] = ()
    width: int = 8
    height: int = 8

    @property
    def instant(self) -> bool:
        """Does only the newest value count?"""
        return self.kind in ("stat", "bargauge")

    def document(self, number: int, x: int, y: int) -> dict[str, Any]:
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.about,
            "datasource": SOURCE,
            "gridPos": {"x": x, "y": y, "w": self.width, "h": self.height},
            "targets": [
                {
                    "refId": chr(ord("A") + place),
                    "datasource": SOURCE,
                    "editorMode": "code",
                    "expr": query.expr,
                    "legendFormat": query.legend or "__auto",
                    "instant": self.instant,
                    "range": not self.instant,
                }
                for place, query in enumerate(self.queries)
            ],
            "fieldConfig": {"defaults": self._field(), "overrides": []},
            "options": self._options(),
        }

    def _field(self) -> dict[str, Any]:
        field: dict[str, Any] = {"unit": self.unit, "thresholds": {"mode": "absolute", "steps": self._steps()}}
        if self.kind == "timeseries":
            shown = "off" if self.above is None and self.below is None else "dashed"
            field["custom"] = {
                "drawStyle": "line",
                "fillOpacity": 20 if self.stacked else 0,
                "stacking": {"mode": "normal" if self.stacked else "none", "group": "A"},
                "showPoints": "auto",
                "spanNulls": False,
                "thresholdsStyle": {"mode": shown},
            }
            field["min"] = 0
        if self.states:
            field["mappings"] = [
                {"type": "value", "options": {str(value): {"text": text, "color": color, "index": place}}}
                for place, (value, text, color) in enumerate(self.states)
            ]
        return field

    def _steps(self) -> list[dict[str, Any]]:
        if self.below is not None:
            return [{"color": "red", "value": None}, {"color": "green", "value": self.below}]
        steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
        return steps if self.above is None else [*steps, {"color": "red", "value": self.above}]

    def _options(self) -> dict[str, Any]:
        newest = {"values": False, "calcs": ["lastNotNull"], "fields": ""}
        match self.kind:
            case "timeseries":
                return {
                    "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                    "tooltip": {"mode": "multi", "sort": "desc"},
                }
            case "state-timeline":
                return {"mergeValues": True, "showValue": "never", "rowHeight": 0.8, "legend": {"showLegend": False}}
            case "stat":
                names = any(query.legend for query in self.queries)
                return {
                    "reduceOptions": newest,
                    "textMode": "value_and_name" if names else "value",
                    "colorMode": "background",
                    "graphMode": "none",
                }
            case _:
                return {"reduceOptions": newest, "orientation": "horizontal", "displayMode": "basic"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """A dashboard.

    Attributes:
        uid: Stays the same, so that links to it do.
        rows: Headings, each with the panels below it, which are laid out from left to right.
        jobs: A metric by which the variable `job` finds the scrape jobs to choose from.
        marks: A query whose series mark moments on all panels, asked for at steps of `marks_step`.
    """

    uid: str
    title: str
    about: str
    rows: tuple[tuple[str, tuple[Panel, ...]], ...]
    jobs: str
    marks: Query
    marks_step: str

    def document(self) -> dict[str, Any]:
        return {
            "uid": self.uid,
            "title": self.title,
            "description": self.about,
            "tags": ["lockd"],
            "schemaVersion": SCHEMA,
            "version": 1,
            "editable": True,
            "graphTooltip": 1,  # one cross-hair for all panels: a hand-off is one moment
            "refresh": "10s",
            "time": {"from": "now-30m", "to": "now"},
            "timezone": "browser",
            "links": [
                {"type": "dashboards", "title": "lockd", "tags": ["lockd"], "asDropdown": False, "keepTime": True}
            ],
            "templating": {"list": [self._source(), self._job()]},
            "annotations": {"list": [self._annotation()]},
            "panels": self._panels(),
        }

    def render(self) -> str:
        return json.dumps(self.document(), indent=2) + "\n"

    def _source(self) -> dict[str, Any]:
        return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "current": {}}

    def _job(self) -> dict[str, Any]:
        query = f"label_values({self.jobs}, job)"
        return {
            "name": "job",
            "label": "Job",
            "type": "query",
            "datasource": SOURCE,
            "definition": query,
            "query": {"query": query, "refId": "jobs"},
            "refresh": 2,
            "includeAll": True,
            "allValue": ".*",
            "multi": True,
            "current": {"text": ["All"], "value": ["$__all"]},
        }

    def _annotation(self) -> dict[str, Any]:
        return {
            "name": "Changes of leader",
            "datasource": SOURCE,
            "enable": True,
            "iconColor": "purple",
            "expr": self.marks.expr,
            "titleFormat": self.marks.legend,
            "step": self.marks_step,
        }

    def _panels(self) -> list[dict[str, Any]]:
        made: list[dict[str, Any]] = []
        y = 0
        for heading, panels in self.rows:
            place = {"x": 0, "y": y, "w": WIDTH, "h": 1}
            made.append(
                {
                    "id": len(made) + 1,
                    "type": "row",
                    "title": heading,
                    "collapsed": False,
                    "gridPos": place,
                    "panels": [],
                }
            )
            x, y, tallest = 0, y + 1, 0
            for panel in panels:
                if x + panel.width > WIDTH:
                    x, y, tallest = 0, y + tallest, 0
                made.append(panel.document(len(made) + 1, x, y))
                x, tallest = x + panel.width, max(tallest, panel.height)
            y += tallest
        return made
