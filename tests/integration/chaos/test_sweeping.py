"""The folder of a run that is killed goes; that of a run that ends is its own affair."""

import subprocess
import sys

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


def test_a_folder_that_was_given_is_nobodys_to_remove(tmp_path):
    with swept(tmp_path, wanted=False):
        pass
    assert tmp_path.exists()
