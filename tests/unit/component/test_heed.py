"""A signal is heard while the main thread is where no handler of Python's can run."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

MAIN = """
import hashlib, os, signal
from component.heed import heed

def hear(number):
    os.write(1, f"{number.name}\\n".encode())
    if number is signal.SIGINT:
        os._exit(7)

heed([signal.SIGTERM, signal.SIGINT], hear)
os.write(1, b"ready\\n")
hashlib.pbkdf2_hmac("sha256", b"", b"", 20_000_000)  # seconds, and no interpreter in between
os.write(1, b"late\\n")
os._exit(1)
"""


def test_it_is_heard_whatever_the_main_thread_does():
    with subprocess.Popen([sys.executable, "-c", MAIN], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGINT):
                process.send_signal(number)
                assert process.stdout.readline() == f"{number.name}\n"
            assert process.wait(timeout=20.0) == 7
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGALRM])
def test_others_do_what_they_do(number):
    with subprocess.Popen([sys.executable, "-c", MAIN], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(number)
            assert process.wait(timeout=20.0) == -number
        finally:
            process.kill()
