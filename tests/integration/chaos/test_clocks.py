"""The library that shifts a process's wall clock, in real processes."""

import json
import os
import shutil
import subprocess
import sys
import time

import pytest

from chaos.faults import clocks
from chaos.faults.errors import NotAvailable

PROGRAM = """
import ctypes, json, time
libc = ctypes.CDLL(None)
now = (ctypes.c_long * 2)()
libc.gettimeofday(now, None)
libc.time.restype = ctypes.c_long
print(json.dumps({
    "clock_gettime": time.time(),
    "gettimeofday": now[0] + now[1] / 1e6,
    "time": libc.time(None),
    "boottime": time.clock_gettime(time.CLOCK_BOOTTIME),
    "fraction": now[1],
}))
"""


def told(variables):
    """What a process that is started with these variables takes for the time."""
    command = [sys.executable, "-c", PROGRAM]
    environment = {**os.environ, **variables}
    return json.loads(subprocess.run(command, env=environment, capture_output=True, timeout=100, check=True).stdout)


@pytest.fixture
def variables(tmp_path):
    """What a replica is started with; None on a machine without a compiler, where that is what is shown."""
    if shutil.which("cc") is None:
        with pytest.raises(NotAvailable):
            clocks.equipped(tmp_path, ["replica-1"])
        return None
    return clocks.equipped(tmp_path, ["replica-1"])["replica-1"]


@pytest.mark.parametrize("shift", [0.0, 3600.0, -3600.0, -0.000000001, 86400.999999999, -5.25])
def test_the_wall_clock_is_shifted_and_no_other(variables, tmp_path, shift):
    if variables is None:
        return
    clocks.write(tmp_path / clocks.FOLDER / "replica-1", shift)
    before, boot = time.clock_gettime(time.CLOCK_REALTIME), time.clock_gettime(time.CLOCK_BOOTTIME)
    seen = told(variables)
    after, booted = time.clock_gettime(time.CLOCK_REALTIME), time.clock_gettime(time.CLOCK_BOOTTIME)
    room = 0.001
    assert before + shift - room <= seen["clock_gettime"] <= after + shift + room
    assert before + shift - room <= seen["gettimeofday"] <= after + shift + room
    assert before + shift - 1 - room <= seen["time"] <= after + shift + room
    assert boot <= seen["boottime"] <= booted
    assert 0 <= seen["fraction"] < 1_000_000


def test_a_process_that_runs_is_shifted_and_set_right(variables, tmp_path):
    if variables is None:
        return
    loop = "import sys, time\nfor _ in sys.stdin: print(time.time(), flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", loop],
        env={**os.environ, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        for shift in (0.0, 3600.0, -3600.0, 0.0):
            clocks.write(tmp_path / clocks.FOLDER / "replica-1", shift)
            before = time.clock_gettime(time.CLOCK_REALTIME)
            running.stdin.write("\n")
            running.stdin.flush()
            seen = float(running.stdout.readline())
            after = time.clock_gettime(time.CLOCK_REALTIME)
            assert before + shift - 0.001 <= seen <= after + shift + 0.001
        running.stdin.close()


def test_without_a_compiler_that_is_said_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(NotAvailable, match=r"^shifting wall clocks takes a C compiler, .*: install gcc$"):
        clocks.equipped(tmp_path, ["replica-1"])


def test_what_the_compiler_says_is_passed_on(tmp_path, monkeypatch):
    broken = tmp_path / "broken.c"
    broken.write_text("int main( {\n", encoding="utf-8")
    monkeypatch.setattr(clocks, "SOURCE", broken)
    monkeypatch.setattr(shutil, "which", lambda _: sys.executable)  # no compiler either, and says so
    with pytest.raises(NotAvailable, match=r"^[^\n]*can't make the library that shifts wall clocks: [^\n]+$"):
        clocks.equipped(tmp_path, ["replica-1"])
