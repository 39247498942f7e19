"""The folder of a run that is killed goes; that of a run that ends is its own affair."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from chaos.cluster.sweeping import swept
from tests.harness.wait import eventually

PROGRAM = """
import sys
from pathlib import Path
from chaos.cluster.sweeping import swept
folder = Path(sys.argv[1])
with swept(folder):
    (folder / "data").mkdir(parents=True)
    print("there", flush=True)
    sys.stdin.read()
"""


def test_the_folder_of_a_run_that_is_killed_goes(tmp_path):
    folder = tmp_path / "run"
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout.readline() == "there\n"
        run.kill()
    eventually(lambda: not folder.exists(), within=30.0)


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_that_of_one_that_ends_is_left(tmp_path, error):
    try:
        with swept(tmp_path):
            if error is not None:
                raise error
    except KeyboardInterrupt:
        pass
    assert tmp_path.exists()


def test_what_comes_to_be_there_again_goes_too(tmp_path):
    """As a container writes that nobody has removed yet."""
    folder = tmp_path / "run"
    program = PROGRAM.replace("swept(folder)", "swept(folder, lasting=100.0)")
    with subprocess.Popen(
        [sys.executable, "-c", program, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout.readline() == "there\n"
        (sweeper,) = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        run.kill()
    try:
        eventually(lambda: not folder.exists(), within=30.0)
        (folder / "trace").mkdir(parents=True)
        eventually(lambda: not folder.exists(), within=30.0)
    finally:
        os.kill(int(sweeper), signal.SIGKILL)
