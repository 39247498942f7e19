"""Reads PromQL, and tells what is wrong with a query against the metrics that there are.

Prometheus takes any name for a metric and any label for one: a query that is misspelled is silent for ever. This
follows the labels through a query: a matcher, a grouping, a match of two sides may only name labels that are there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tests.harness.golden import Metric

TARGET = frozenset({"job", "instance"})
"""What a scrape adds to each series."""

TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
      | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      | (?P<duration>(?:\d+(?:ms|[smhdwy]))+(?!\w)|\$__\w+)
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[a-zA-Z_][\w:]*)
      | (?P<sign>=~|!~|!=|==|>=|<=|[-+*/%^(){}\[\],=<>:@])""",
    re.VERBOSE,
)
STRENGTH = {
    **dict.fromkeys(("or",), 1),
    **dict.fromkeys(("and", "unless"), 2),
    **dict.fromkeys(("==", "!=", "<", ">", "<=", ">="), 3),
    **dict.fromkeys(("+", "-"), 4),
    **dict.fromkeys(("*", "/", "%"), 5),
    "^": 6,
}
AGGREGATIONS = frozenset({"sum", "min", "max", "avg", "count", "group", "topk", "bottomk", "quantile", "stddev"})
OF_COUNTERS = frozenset({"rate", "irate", "increase"})
SUFFIXES = ("_bucket", "_sum", "_count")


class Wrong(Exception):
    """The query can't be what was meant."""


@dataclass(frozen=True, slots=True)
class Vector:
    """What a part of a query gives.

    Attributes:
        labels: What its series have; None for a number or a string.
        counts: Does it only rise, as long as its process lives?
        buckets: Has it a histogram's `le`?
    """

    labels: frozenset[str] | None = None
    counts: bool = False

    def require(self, names: Iterable[str], what: str) -> None:
        if missing := sorted(set(names) - (self.labels or frozenset())):
            raise Wrong(f"{what} {', '.join(missing)}: there are {', '.join(sorted(self.labels or ())) or 'none'}")


@dataclass(slots=True)
class Reader:
    """One query being read.

    Args:
        metrics: By name; those of a histogram without suffix.
    """

    text: str
    metrics: Mapping[str, Metric]
    tokens: list[tuple[str, str]] = field(default_factory=list)
    at: int = 0

    def read(self) -> Vector:
        """What the query gives.

        Raises:
            Wrong: It isn't PromQL, or names what isn't there.
        """
        place = 0
        while place < len(self.text):
            found = TOKEN.match(self.text, place)
            if found is None:
                raise Wrong(f"not PromQL: {self.text[place : place + 20]!r}")
            place = found.end()
            if found.lastgroup != "space":
                self.tokens.append((str(found.lastgroup), found.group()))
        whole = self.expression(0)
        if self.at < len(self.tokens):
            raise Wrong(f"not PromQL from {self.tokens[self.at][1]!r} on")
        return whole

    # --- tokens

    @property
    def next(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, *wanted: str) -> str:
        """The next token, which must be one of these, or of this kind."""
        if wanted and self.next not in wanted and self.kind not in wanted:
            raise Wrong(f"expected {' or '.join(wanted)}, not {self.next or 'the end'!r}")
        self.at += 1
        return self.tokens[self.at - 1][1]

    def listed(self, read: Callable[[], Any], opening: str = "(", closing: str = ")") -> list[Any]:
        """What stands in parentheses, with commas between."""
        self.take(opening)
        found = []
        while self.next != closing:
            found.append(read())
            if self.next != closing:
                self.take(",")
        self.take(closing)
        return found

    def names(self) -> list[str]:
        return self.listed(lambda: self.take("name"))

    # --- expressions

    def expression(self, above: int) -> Vector:
        """A whole expression whose operators bind more strongly than `above`."""
        left = self.unary()
        while (strength := STRENGTH.get(self.next, 0)) > above:
            operator = self.take()
            if self.next == "bool":
                self.take()
            matching = (self.take(), self.names()) if self.next in ("on", "ignoring") else None
            grouping = None
            if self.next in ("group_left", "group_right"):
                grouping = (self.take(), self.names() if self.next == "(" else [])
            left = joined(operator, left, self.expression(strength), matching, grouping)
        return left

    def unary(self) -> Vector:
        if self.next in ("-", "+"):
            self.take()
            return self.unary()
        found = self.primary()
        while self.next in ("[", "offset", "@"):
            match self.take():
                case "[":
                    self.take("duration")
                    if self.next == ":":
                        self.take()
                        if self.kind == "duration":
                            self.take()
                    self.take("]")
                case "offset":
                    self.take("duration")
                case _:
                    self.take("number")
        return found

    def primary(self) -> Vector:
        match self.kind:
            case "number" | "string":
                self.take()
                return Vector()
            case "name":
                return self.named(self.take())
            case _:
                self.take("(")
                inner = self.expression(0)
                self.take(")")
                return inner

    def named(self, name: str) -> Vector:
        if name in AGGREGATIONS:
            clause = (self.take(), self.names()) if self.next in ("by", "without") else None
            *_, inner = self.listed(lambda: self.expression(0))
            if clause is None and self.next in ("by", "without"):
                clause = (self.take(), self.names())
            return aggregated(name, inner, clause)
        if self.next == "(":
            return called(name, self.listed(lambda: self.expression(0)))
        return self.selected(name)

    def selected(self, name: str) -> Vector:
        found = selectable(name, self.metrics)
        bounds = found[1]
        labels = found[0] | TARGET
        if self.next == "{":
            for label, value in self.listed(self.matcher, "{", "}"):
                Vector(labels).require([label], f"{name} is matched by")
                if label == "le" and value != "+Inf" and float(value) not in bounds:
                    raise Wrong(f"{name} has no bucket {value}")
        return Vector(labels, counts=found[2])

    def matcher(self) -> tuple[str, str]:
        label = self.take("name")
        self.take("=", "!=", "=~", "!~")
        return label, self.take("string")[1:-1]


def selectable(name: str, metrics: Mapping[str, Metric]) -> tuple[frozenset[str], tuple[float, ...], bool]:
    """Labels of a metric's series, its buckets, and whether they only rise."""
    if name == "up":
        return frozenset(), (), False
    if (metric := metrics.get(name)) is not None and metric.type != "histogram":
        return frozenset(metric.labels), (), metric.type == "counter"
    for suffix in SUFFIXES:
        metric = metrics.get(name.removesuffix(suffix))
        if name.endswith(suffix) and metric is not None and metric.type == "histogram":
            extra = {"le"} if suffix == "_bucket" else set()
            return frozenset({*metric.labels, *extra}), metric.buckets, True
    raise Wrong(f"there is no metric {name}")


def aggregated(name: str, inner: Vector, clause: tuple[str, list[str]] | None) -> Vector:
    if inner.labels is None:
        raise Wrong(f"{name} of a number")
    word, names = clause or ("by", [])
    inner.require(names, f"{name} {word}")
    if name in ("topk", "bottomk"):
        return inner
    return Vector(frozenset(names) if word == "by" else inner.labels - set(names))


def called(name: str, arguments: list[Vector]) -> Vector:
    vectors = [each for each in arguments if each.labels is not None]
    if name in ("time", "vector", "scalar"):
        return Vector(frozenset()) if name == "vector" else Vector()
    if not vectors:
        raise Wrong(f"{name} of a number")
    inner = vectors[-1]
    if name in OF_COUNTERS and not inner.counts:
        raise Wrong(f"{name} of what may fall")
    if name == "histogram_quantile":
        inner.require(["le"], "histogram_quantile by")
        return Vector(inner.labels - {"le"})
    if name in ("absent", "absent_over_time"):
        return Vector(frozenset())
    return Vector(inner.labels)


def joined(
    operator: str,
    left: Vector,
    right: Vector,
    matching: tuple[str, list[str]] | None,
    grouping: tuple[str, list[str]] | None,
) -> Vector:
    if left.labels is None or right.labels is None:
        return Vector(right.labels if left.labels is None else left.labels)
    if operator == "or" and matching is None:
        return Vector(left.labels | right.labels)
    if matching is None and left.labels != right.labels:
        raise Wrong(f"{operator} never matches: {sorted(left.labels)} and {sorted(right.labels)}")
    word, names = matching or ("ignoring", [])
    if word == "on":
        left.require(names, f"{operator} on, left")
        right.require(names, f"{operator} on, right")
    if grouping is not None:
        many, one = (left, right) if grouping[0] == "group_left" else (right, left)
        one.require(grouping[1], grouping[0])
        return Vector((many.labels or frozenset()) | set(grouping[1]))
    if STRENGTH[operator] < 3:
        return Vector(left.labels)
    return Vector(frozenset(names) if word == "on" else left.labels - set(names))
