from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress

import pytest
from click.testing import CliRunner

from component.healthcheck import UnwellError, ask
from lockd.daemon.command import main as lockd
from replica.commands import main as replica
from tests.harness import certs

HOST = "127.0.0.1"


class Answering:
    """Gives every request one answer, by TLS or in the clear."""

    def __init__(self, answer, *, tls=False):
        self._answer = answer
        self._tls = None
        if tls:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(certs.path("server.pem"), certs.path("server.key"))
        self._listener = socket.create_server((HOST, 0))
        self.port = self._listener.getsockname()[1]
        self.asked = []

    def __enter__(self):
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10.0)

    def _run(self):
        with suppress(OSError):
            while True:
                taken, _ = self._listener.accept()
                with taken if self._tls is None else self._tls.wrap_socket(taken, server_side=True) as guest:
                    self.asked.append(guest.recv(4096).decode().partition("\r\n")[0])
                    guest.sendall(self._answer)


def answer(status, text):
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n{text}".encode()


@pytest.mark.parametrize("tls", [False, True])
def test_a_server_that_is_well(tls):
    with Answering(answer("200 OK", "ok\n"), tls=tls) as server:
        assert ask(HOST, server.port, "/livez", tls=tls, timeout=10.0) == "ok"
        assert server.asked == ["GET /livez HTTP/1.0"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (answer("503 Service Unavailable", "etcd: no leader"), "answered 503: etcd: no leader"),
        (answer("302 Found", ""), "answered 302: "),
        (b"SSH-2.0-OpenSSH\r\n", "does not answer in HTTP: 'SSH-2.0-OpenSSH"),
        (b"", "does not answer in HTTP: ''"),
    ],
)
def test_one_that_is_not(said, told):
    with Answering(said) as server, pytest.raises(UnwellError) as caught:
        ask(HOST, server.port, "/readyz", tls=False, timeout=10.0)
    assert f"http://{HOST}:{server.port}/readyz {told}" in str(caught.value)


def test_nobody_there():
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(UnwellError, match=f"http://{HOST}:{port}/readyz does not answer: .*refused"):
        ask(HOST, port, "/readyz", tls=False, timeout=10.0)


def test_an_address_in_brackets_or_without_is_told_with_them():
    with pytest.raises(UnwellError, match=r"^http://\[::1\]:1/ does not answer"):
        ask("[::1]", 1, "/", tls=False, timeout=10.0)


@pytest.mark.parametrize(("command", "flag"), [(replica, "--secure-port"), (lockd, "--http-port")])
def test_the_exit_code_says_it(command, flag):
    with Answering(answer("200 OK", "ok")) as server:
        well = CliRunner().invoke(command, ["healthcheck", f"{flag}={server.port}", "--timeout=10s"])
    with Answering(answer("503 Service Unavailable", "no")) as server:
        unwell = CliRunner().invoke(command, ["healthcheck", f"{flag}={server.port}", "--timeout=10s"])
    assert (well.exit_code, well.stdout) == (0, "ok\n")
    assert (unwell.exit_code, unwell.stdout) == (1, "")
    assert unwell.stderr == f"error: http://{HOST}:{server.port}/readyz answered 503: no\n"
