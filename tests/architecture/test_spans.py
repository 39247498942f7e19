"""The table of spans in docs/telemetry.md and the places in the code that make them name the same."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from component.tracing.reading import Reference, Span
from tests.harness.span_model import row_of, table, violations

ROOT = Path(__file__).resolve().parents[2]
MAKERS = {"emit", "_emit", "begin", "start_span", "start_as_current_span", "Stories"}
PASSED_ON = "lockd/election_spans.py"
"""Its `_emit` is given literal names, which are seen where it is called."""

ANONYMOUS = ("component/tracing/", "lockd/v1/")
"""Makes spans of whatever name it is given."""


def constants(tree):
    """Text constants of a module, by name."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, ast.Constant):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name) and target.id.isupper() and isinstance(node.value.value, str):
                    found[target.id] = node.value.value
    return found


def names(node, known):
    """The span names that an expression may be; `<>` where it is put together."""
    match node:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.IfExp(body=one, orelse=other):
            return names(one, known) | names(other, known)
        case ast.Name(id=name) if name in known:
            return {known[name]}
        case ast.JoinedStr() | ast.Name() | ast.Attribute():
            return {"<>"}
    return set()


@cache
def made():
    """Each place: file, line, names."""
    files = [path for package in ("component", "lockd", "replica", "chaos") for path in (ROOT / package).rglob("*.py")]
    sources = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files}
    trees = {
        place: ast.parse(source)
        for place, source in sources.items()
        if not place.startswith(ANONYMOUS)
        and any(word in source for word in ("tracing", "opentelemetry import", "Span"))
    }
    constants_of = {place: constants(tree) for place, tree in trees.items()}
    shared = {name: text for found in constants_of.values() for name, text in found.items()}
    places = []
    for place, tree in trees.items():
        known = shared | constants_of[place]
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args:
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if called == "begin" and ast.unparse(node.func) != "tracing.begin":
                    continue  # of something else, such as a story of the spans that `Stories` names
                if called in MAKERS and (found := names(node.args[0], known)):
                    places.append((f"{place}:{node.lineno}", found))
    return places


def test_the_table_has_rows():
    assert len(table()) >= 16


def test_each_span_of_the_code_is_in_the_table():
    unknown = {place: found for place, found in made() if any(name != "<>" and row_of(name) is None for name in found)}
    assert unknown == {}


def test_each_row_is_made_somewhere():
    literal = {name for _, found in made() for name in found}
    assert {row.name for row in table() if "<" not in row.name} - literal == set()


def test_names_put_together_are_the_rows_with_placeholders():
    places = {place.partition(":")[0] for place, found in made() if "<>" in found}
    assert places - {PASSED_ON} == {"lockd/daemon/service.py", "lockd/etcd/telemetry.py", "lockd/session.py"}
    assert [row.name for row in table() if "<" in row.name] == [
        "<program> <command>",
        "etcdserverpb.<Service>/<Method>",
        "lockd.v1.LockService/<Method>",
    ]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({}, ""),
        ({"name": "scheduler.nap"}, "not in the table"),
        ({"kind": "server"}, "kind server"),
        ({"attributes": {"token": 1}}, "attributes missing: ['passed']"),
        ({"attributes": {"token": 1, "passed": True, "mood": "good"}}, "attributes unknown: ['mood']"),
        ({"references": ()}, "links missing: ['leadership_term']"),
    ],
)
def test_a_span_that_is_not_as_the_table_says_is_told(changed, problem):
    fields = {
        "name": "scheduler.cache_barrier",
        "attributes": {"token": 1, "passed": True},
        "references": (Reference("t", "s", {"link.kind": "leadership_term"}),),
    }
    told = violations(Span(start=0.0, end=1.0, **(fields | changed)))
    assert (told == []) if not problem else (len(told) == 1 and problem in told[0])
