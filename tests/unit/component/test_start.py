import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from component.start import start

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
LOADED = "import importlib, sys; importlib.import_module(sys.argv[1]); print({'click', 'grpc'} & sys.modules.keys())"

MODULE = """
import signal
seen = [signal.getsignal(signal.SIGINT)]
def main():
    seen.append(signal.getsignal(signal.SIGINT))
"""


@pytest.fixture
def before():
    kept = signal.getsignal(signal.SIGINT)
    yield lambda how: signal.signal(signal.SIGINT, how)
    signal.signal(signal.SIGINT, kept)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (signal.default_int_handler, [signal.SIG_DFL, signal.default_int_handler]),
        (signal.SIG_IGN, [signal.SIG_IGN, signal.SIG_IGN]),
    ],
    ids=["usual", "ignored"],
)
def test_ctrl_c_ends_a_process_quietly_only_while_it_loads(before, tmp_path, monkeypatch, how, expected):
    (tmp_path / "loaded_slowly.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "loaded_slowly", raising=False)
    before(how)
    start("loaded_slowly")
    assert sys.modules["loaded_slowly"].seen == expected


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_command_loads_its_code_only_once_ctrl_c_is_quiet(name):
    module, _, function = SCRIPTS[name].partition(":")
    command = [sys.executable, "-c", LOADED, module]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert (function, done.stdout) == ("main", "set()\n")
