"""Ports for programs that are about to start, given to processes that look at the same time."""

from __future__ import annotations

import socket
import subprocess
import sys

from lockd.etcd.loopback import free_ports

GIVES = "import sys; from lockd.etcd.loopback import free_ports; print(*free_ports(150), flush=True); sys.stdin.read()"
FORKS = """
import os; from lockd.etcd.loopback import free_ports
print(*free_ports(150), flush=True)
if os.fork():
    os.wait()
else:
    print(*free_ports(150), flush=True)
    os._exit(0)
"""


def given_elsewhere(number):
    """Ports given to so many processes, none of which listens on one, all alive at once."""
    command = [sys.executable, "-c", GIVES]
    made = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(number)]
    try:
        return [[int(word) for word in one.stdout.readline().split()] for one in made]
    finally:
        for one in made:
            one.communicate(timeout=30.0)


def test_no_two_processes_are_given_the_same():
    mine = free_ports(150)
    each = [mine, *given_elsewhere(4)]
    assert [len(set(ports)) for ports in each] == [150] * 5
    assert len(set().union(*each)) == 5 * 150


def test_a_port_that_was_given_comes_again_only_after_all_others():
    ports = [port for _ in range(5) for port in free_ports(30)]
    assert len(set(ports)) == len(ports)


def test_a_port_on_which_somebody_listens_is_passed_over():
    (port,) = free_ports(1)
    with socket.create_server(("127.0.0.1", port)):
        assert port not in [each for _ in range(3) for each in free_ports(100)]


def test_a_fork_gives_none_of_its_parents():
    done = subprocess.run([sys.executable, "-c", FORKS], stdout=subprocess.PIPE, text=True, check=True, timeout=30.0)
    parent, child = (set(line.split()) for line in done.stdout.splitlines())
    assert len(parent) == len(child) == 150
    assert not parent & child
