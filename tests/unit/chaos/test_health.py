"""Who listens behind a published port."""

import socket
import threading
from contextlib import closing

import pytest

from chaos.cluster.health import is_answered, status_of


@pytest.fixture
def listening():
    """Somebody who does something with each connection, at an address."""
    ended = []

    def made(what):
        listener = socket.create_server(("127.0.0.1", 0))
        ended.append(listener)

        def serve():
            while True:
                try:
                    taken, _ = listener.accept()
                except OSError:
                    return
                ended.append(taken)
                what(taken)

        threading.Thread(target=serve, daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    yield made
    for each in ended:
        each.close()


def test_who_waits_to_be_asked_or_speaks_first_listens(listening):
    assert is_answered(listening(lambda _: None))
    assert is_answered(f"http://{listening(lambda taken: taken.sendall(b'SETTINGS'))}")


def test_a_proxy_with_nobody_behind_it_is_nobody(listening):
    """Docker's own takes every connection to a published port."""
    assert not is_answered(listening(lambda taken: taken.close()))


def test_nobody_listens_nowhere():
    with closing(socket.create_server(("127.0.0.1", 0))) as gone:
        address = f"127.0.0.1:{gone.getsockname()[1]}"
    assert not is_answered(address)
    assert not is_answered("")
    assert status_of("", "/readyz") == 0
