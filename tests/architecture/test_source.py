"""What the source must keep to and no linter can say."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("component", "lockd", "replica", "chaos")
LONGEST = 350

CLOCKS = re.compile(r"(datetime\.)?(datetime|date)\.(now|utcnow|today)")
"""Calls that read a clock without importing `time`."""

OTEL_SDK = ("component/tracing.py", "component/tracing/", "component/metrics.py", "component/metrics/")

# Spelled so that this file doesn't match itself.
PLACES = re.compile(
    r"pypi[.]org|pythonhosted[.]org|deb[.]debian[.]org|registry[.]npmjs|proxy[.]golang"
    r"|(?<![\w.])/(work|root|farm|home/[a-z]+)[/]"
)
"""Hosts of package registries, and paths of somebody's machine."""

UNFINISHED = re.compile(r"\b(TOD[O]|FIXM[E]|XX[X])\b|NotImplemente[d]Error|pytest\.ski[p]\(|mark\.(ski[p]|xfai[l])")


@cache
def tracked() -> tuple[Path, ...]:
    """The files of the project: those that git knows, the new ones included; without git, all of its folders."""
    names = []
    if shutil.which("git"):
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    if not names:
        folders = (*PACKAGES, "tests", "tools", "docs", "proto")
        names = [str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder).rglob("*.*")]
    return tuple(ROOT / name for name in names if (ROOT / name).is_file() and "__pycache__" not in name)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def sources() -> list[Path]:
    """Hand-written modules of the shipped packages."""
    return [
        path
        for path in tracked()
        if path.suffix == ".py" and name_of(path).startswith(PACKAGES) and "/v1/" not in name_of(path)
    ]


def imports(tree: ast.AST) -> set[str]:
    """All modules that a file imports, `from a import b` as both `a` and `a.b`; imports for types alone left out."""
    found: set[str] = set()
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            todo.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        todo.extend(ast.iter_child_nodes(node))
    return found


def within(module: str, packages: frozenset[str]) -> bool:
    parts = module.split(".")
    return any(".".join(parts[:length]) in packages for length in range(1, len(parts) + 1))


def clocks(tree: ast.AST) -> list[str]:
    """How a file reads a clock past the injected one."""
    calls = (ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    modules = (module for module in imports(tree) if within(module, frozenset({"time"})))
    return sorted({*filter(CLOCKS.fullmatch, calls), *modules})


def test_there_is_source_to_judge():
    assert {name_of(path).split("/")[0] for path in sources()} >= set(PACKAGES)


def test_files_stay_short():
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    assert {name: length for name, length in lengths.items() if length > LONGEST} == {}


def test_only_the_clock_module_reads_clocks():
    found = {name_of(path): clocks(ast.parse(path.read_text(encoding="utf-8"))) for path in sources()}
    assert [name for name, ways in found.items() if ways] == ["component/clock.py"]


def test_only_tracing_and_metrics_import_the_telemetry_sdk():
    sdk = frozenset({"opentelemetry.sdk", "opentelemetry.exporter"})
    users = [
        name_of(path)
        for path in sources()
        if any(within(module, sdk) for module in imports(ast.parse(path.read_text(encoding="utf-8"))))
    ]
    assert [name for name in users if not name.startswith(OTEL_SDK)] == []


def test_no_file_names_a_registry_or_somebodys_machine():
    found = {}
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if match := PLACES.search(text):
            found[name_of(path)] = match.group()
    assert found == {}


def test_nothing_is_left_unfinished_or_skipped():
    texts = {name_of(path): path.read_text(encoding="utf-8") for path in tracked() if path.suffix == ".py"}
    texts = {name: text for name, text in texts.items() if "/v1/" not in name}  # generated code says what it likes
    texts.pop("chaos/pytest/missing.py")  # leaves a user's test out where no cluster can be had, and fails it in CI
    texts.pop("tests/harness/programs.py")  # leaves a test out where a program is missing, and fails it in CI
    assert {name: match.group() for name, text in texts.items() if (match := UNFINISHED.search(text))} == {}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import time\ntime.sleep(1)", ["time"]),
        ("from time import monotonic as now", ["time", "time.monotonic"]),
        ("from datetime import datetime\n\nnow = datetime.now(UTC)", ["datetime.now"]),
        ("import datetime\ndatetime.datetime.utcnow()", ["datetime.datetime.utcnow"]),
        ("datetime.fromtimestamp(wall, UTC)\nself.time.wait()", []),
    ],
)
def test_the_search_for_clocks_finds_them(source, expected):
    assert clocks(ast.parse(source)) == expected


def test_the_search_for_imports_finds_them():
    source = (
        "import os.path\nfrom opentelemetry import sdk\nfrom threading import Event\n"
        "if TYPE_CHECKING:\n    import queue\nelse:\n    import socket\ndef f():\n    import random\n"
    )
    assert imports(ast.parse(source)) == {
        *("os.path", "opentelemetry", "opentelemetry.sdk", "threading", "threading.Event", "socket", "random"),
    }


@pytest.mark.parametrize("text", ["see http://pypi" + ".org/x", "cd /" + "root/x", "'/" + "home/someone/x'"])
def test_the_search_for_places_finds_them(text):
    assert PLACES.search(text)


@pytest.mark.parametrize("text", ["docs/work/x", "~/root", "~/x/work/y", "the homework/ folder"])
def test_the_search_for_places_takes_no_other(text):
    assert not PLACES.search(text)


@pytest.mark.parametrize("text", ["# TO" + "DO: later", "raise NotImplemented" + "Error", "@pytest.mark." + "skip"])
def test_the_search_for_what_is_unfinished_finds_it(text):
    assert UNFINISHED.search(text)
