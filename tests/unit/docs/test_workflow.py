"""The workflow of the example project: each of its commands is there, and goes with the project's files."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "docs" / "examples" / "tickets"
FILE = EXAMPLE / ".github" / "workflows" / "failover.yml"


class Project:
    """What commands of a workflow are checked by: the example, and a pytest that has the plugin."""

    def __init__(self, pytester):
        self.pytester = pytester
        self.about = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())

    def problems(self, text):
        """What is wrong with a workflow, one line each."""
        workflow = yaml.safe_load(text)
        # YAML takes a bare `on` for a truth
        if set(workflow) != {"name", True, "permissions", "jobs"}:
            yield f"keys {sorted(map(str, workflow))}"
        for name, job in workflow["jobs"].items():
            if not (re.fullmatch(r"ubuntu-\d\d\.04", job["runs-on"]) and 0 < job["timeout-minutes"] <= 60):
                yield f"{name}: on {job['runs-on']} for {job['timeout-minutes']}"
            for step in job["steps"]:
                yield from self._step(step)
            yield from self._kept(job["steps"])

    def _step(self, step):
        uses, run = step.get("uses"), step.get("run")
        if (uses is None) == (run is None):
            yield f"{step}: either uses or run"
        if uses is not None and not re.fullmatch(r"actions/[a-z-]+@v\d+", uses):
            yield f"{uses}: no action at a version"
        if uses is not None and "setup-python@" in uses:
            least = self.about["project"]["requires-python"].removeprefix(">=")
            if numbers(str(step["with"]["python-version"])) < numbers(least):
                yield f"Python {step['with']['python-version']} is older than {least}"
        for command in re.split(r"&&|\n", run or ""):
            if command.strip():
                yield from self._command(shlex.split(command))

    def _command(self, words):
        match words:
            case ["sudo", *rest]:
                yield from self._command(rest)
            case ["apt-get", "update"]:
                pass
            case ["apt-get", "install", *rest]:
                installed = (ROOT / ".ci" / "run").read_text()
                yield from (
                    f"{word}: no package that is installed elsewhere"
                    for word in rest
                    if not word.startswith("--") and f"({word})" not in installed
                )
            case ["python", "-m", "pip", "install", "--editable", what]:
                found = re.fullmatch(r"\.\[(\w+)\]", what)
                if found is None or found[1] not in self.about["project"]["optional-dependencies"]:
                    yield f"{what}: no extra of the project"
            case ["python", "-m", "pytest", *rest]:
                yield from self._pytest(rest)
            case ["make", *targets]:
                there = (EXAMPLE / "Makefile").read_text() if (EXAMPLE / "Makefile").exists() else ""
                yield from (f"make {name}: no target" for name in targets if f"\n{name}:" not in there)
            case _:
                yield f"{shlex.join(words)}: nobody knows it"

    def _pytest(self, words):
        yield from (f"{word}: no path" for word in words if word[0] != "-" and not (EXAMPLE / word).exists())
        options = [word for word in words if word.startswith("-")]
        self.pytester.makepyfile("def test_it(): pass")
        asked = self.pytester.runpytest_inprocess("-p", "chaos.pytest", "--collect-only", *options)
        if asked.ret:
            yield f"pytest {shlex.join(words)}: {asked.stderr.str().strip() or asked.ret}"

    @staticmethod
    def _kept(steps):
        """Where the tests write is what is uploaded."""
        written = re.findall(r"--(?:ha-dir|junitxml)=([^/\s]+)", " ".join(step.get("run", "") for step in steps))
        kept = [step["with"]["path"] for step in steps if "upload-artifact@" in step.get("uses", "")]
        if set(written) != set(kept):
            yield f"{sorted(set(written))} are written, {kept} are kept"


def numbers(version):
    return tuple(map(int, version.split(".")))


@pytest.fixture
def project(pytester, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return Project(pytester)


def test_each_command_of_the_workflow_is_there(project):
    assert list(project.problems(FILE.read_text())) == []


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("--ha-dir=ha", "--ha-folder=ha", "pytest --ha-folder=ha"),
        ("pytest --ha-dir", "pytest tests/test_gone.py --ha-dir", "tests/test_gone.py: no path"),
        ("'.[test]'", "'.[tests]'", "no extra of the project"),
        ("etcd-server", "etcd-serve", "etcd-serve: no package"),
        ("path: ha", "path: kept", "are written"),
        ("actions/checkout@v4", "actions/checkout", "no action at a version"),
        ('"3.12"', '"3.10"', "Python 3.10 is older than 3.11"),
        ("python -m pytest", "make test", "make test: no target"),
        ("python -m pytest", "tox", "tox --ha-dir=ha --junitxml=ha/junit.xml: nobody knows it"),
    ],
)
def test_one_that_is_not_is_told(project, old, new, told):
    text = FILE.read_text()
    assert text.count(old) == 1
    assert [problem for problem in project.problems(text.replace(old, new)) if told in problem]


def test_what_is_read_of_it_says_where_it_is():
    for page in (EXAMPLE / "README.md", ROOT / "docs" / "pytest.md"):
        assert "GitHub Actions" in page.read_text()
    assert FILE.relative_to(EXAMPLE).as_posix() in (EXAMPLE / "README.md").read_text()
