from __future__ import annotations

import socket

import pytest

from component.notify import Notifier


@pytest.fixture
def manager(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(10.0)
        yield listening


def test_a_message_has_an_assignment_a_line(manager):
    Notifier(manager.getsockname()).tell("READY=1", "STATUS=stands by,\na leads")
    assert manager.recv(4096) == b"READY=1\nSTATUS=stands by, a leads"


def test_a_socket_without_a_file():
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(b"")  # the system names one
        listening.settimeout(10.0)
        Notifier("@" + listening.getsockname()[1:].decode()).tell("WATCHDOG=1")
        assert listening.recv(4096) == b"WATCHDOG=1"


def test_nothing_is_sent_when_there_is_nothing_to_tell(manager):
    Notifier(manager.getsockname()).tell()
    manager.setblocking(False)
    with pytest.raises(BlockingIOError):
        manager.recv(4096)


def test_nobody_listening_is_no_trouble(tmp_path):
    Notifier(str(tmp_path / "gone")).tell("READY=1")
    Notifier().tell("READY=1")
    assert not Notifier()


@pytest.mark.parametrize(
    ("environment", "watchdog"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "7"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "8"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_the_manager_says_how_often_it_wants_a_sign_of_life(environment, watchdog):
    assert Notifier.of(environment, pid=7).watchdog == watchdog


def test_the_socket_is_in_the_environment(manager):
    Notifier.of({"NOTIFY_SOCKET": manager.getsockname()}).tell("READY=1")
    assert manager.recv(4096) == b"READY=1"
