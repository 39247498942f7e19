"""Who dials is told by the socket, of whichever family it is."""

import os
import socket

import pytest

from chaos.proxy.link import STRANGER
from chaos.proxy.origin import origin


@pytest.mark.parametrize(
    ("family", "host"),
    [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")],
    ids=["IPv4", "IPv4 by IPv6, as gRPC dials"],
)
def test_a_process_is_known_by_its_socket(family, host):
    with socket.create_server(("127.0.0.1", 0)) as door, socket.socket(family) as dialling:
        dialling.connect((host, door.getsockname()[1]))
        taken, dialler = door.accept()
        with taken:
            assert origin({"us": os.getpid()}, dialler, door.getsockname()) == "us"
            assert origin({"init": 1}, dialler, door.getsockname()) == STRANGER
