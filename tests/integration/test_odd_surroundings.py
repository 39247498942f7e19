"""Commands whose descriptors are closed, full or left by their reader, and whose etcd is silent: no traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lockd.etcd.embedded import Embedded

pytestmark = pytest.mark.etcd

COMMANDS = {"replicactl": "replica.ctl.main", "lockctl": "lockd.ctl.commands", "chaosctl": "chaos.ctl"}
RUN = "import importlib, sys; importlib.import_module(sys.argv.pop(1)).main()"
SHELL = 'exec "$@" {}'


def run(redirected, line, *more):
    """Run a command line by a shell that redirects its descriptors."""
    name, *words = line.split()
    command = [sys.executable, "-c", RUN, COMMANDS[name], *words, *more]
    return subprocess.run(
        ["/bin/sh", "-c", SHELL.format(redirected), "sh", *command],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.fixture
def connected(etcd, prefix):
    return (f"--endpoints={','.join(etcd.endpoints)}", f"--prefix={prefix}")


def test_a_closed_standard_input_is_no_manifest():
    ended = run("<&-", "replicactl apply -f -")
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: standard input is closed")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_full_disk_is_one_line(connected, form):
    ended = run(">/dev/full", f"chaosctl audit -o {form}", *connected)
    assert (ended.returncode, ended.stderr) == (
        1,
        "error: can't write to standard output: No space left on device\n",
    )


def test_a_closed_standard_output_or_error_is_no_failure(connected):
    assert run(">&-", "replicactl get pods", *connected).returncode == 0
    assert run("2>&-", "replicactl get pods", *connected).returncode == 0


def test_an_etcd_that_is_silent_is_a_matter_of_time():
    with Embedded.start(members=1) as cluster:
        endpoints = f"--endpoints={','.join(cluster.endpoints)}"
        cluster.members[0].pause()
        try:
            for line in ("lockctl status", "replicactl get pods", "chaosctl audit"):
                ended = run("", line, endpoints, "--command-timeout=1s")
                assert (ended.returncode, ended.stdout) == (3, ""), (line, ended.stderr)
                assert ended.stderr.count("\n") == 1
        finally:
            cluster.members[0].resume()
