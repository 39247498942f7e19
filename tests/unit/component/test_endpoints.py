from __future__ import annotations

import contextlib
import http.client
import re
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from component import endpoints, handlers
from component.endpoints import Endpoints
from component.health import Check
from component.lifecycle import Group
from component.listening import CannotListen, Tls, listen
from tests.harness.clock import ManualClock
from tests.harness.wait import eventually

FILES = Path(__file__).parents[2] / "harness" / "tls"
LONG = 20


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(endpoints, "TICK", 0.02)


@pytest.fixture
def group():
    group = Group("test")
    yield group
    group.request_stop()
    assert group.join(LONG) == ()
    assert group.failure is None


def ask(port, path, method="GET", **more):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
    try:
        connection.request(method, path, **more)
        response = connection.getresponse()
        return response.status, response.read().decode(), dict(response.getheaders())
    finally:
        connection.close()


def test_closing_wakes_who_waits_for_connections(group, monkeypatch):
    monkeypatch.setattr(endpoints, "TICK", LONG)
    served = Endpoints("127.0.0.1", 0, group=group)
    port = served.start()
    assert ask(port, "/livez")[0] == 200
    served.close()
    assert group.join(LONG / 2) == ()
    with pytest.raises(ConnectionRefusedError):
        ask(port, "/livez")


def test_serves_health_metrics_and_the_routes_given(group):
    port = Endpoints(
        "127.0.0.1",
        0,
        group=group,
        checks=[Check("etcd", lambda: "down", on=("readyz",))],
        metrics=lambda: b"up 1\n",
        routes={"/leader": lambda request: handlers.text("no\n", status=503), "/who": lambda r: handlers.text(r.user)},
    ).start()
    assert ask(port, "/healthz")[:2] == (200, "ok")
    assert ask(port, "/livez?verbose")[:2] == (200, "[+]ping ok\nlivez check passed\n")
    assert ask(port, "/readyz")[0] == 500
    assert ask(port, "/readyz/etcd")[0] == 500
    assert ask(port, "/leader")[:2] == (503, "no\n")
    assert ask(port, "/who")[1] == "system:anonymous"
    status, body, headers = ask(port, "/metrics")
    assert (status, body, headers["Content-Type"]) == (200, "up 1\n", "text/plain; version=0.0.4; charset=utf-8")
    assert headers["Cache-Control"] == "no-cache, private"


@pytest.mark.parametrize("path", ["/", "/absent", "/healthzz", "/readyz/absent", "/leader/x"])
def test_other_paths_are_not_found(group, path):
    assert ask(Endpoints("127.0.0.1", 0, group=group).start(), path)[:2] == (404, "404 page not found\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
def test_other_methods_are_not_allowed(group, method):
    status, body, headers = ask(Endpoints("127.0.0.1", 0, group=group).start(), "/healthz", method=method)
    assert (status, body) == (405, "405 method not allowed\n")
    assert headers["Allow"] == "GET, HEAD"


def test_a_head_has_no_body(group):
    status, body, headers = ask(Endpoints("127.0.0.1", 0, group=group).start(), "/healthz", method="HEAD")
    assert (status, body, headers["Content-Length"]) == (200, "", "2")


def test_a_handler_that_raises_costs_its_request_only(group):
    def broken(_request):
        raise RuntimeError("secret")

    port = Endpoints("127.0.0.1", 0, group=group, routes={"/x": broken}).start()
    status, body, _ = ask(port, "/x")
    assert status == 500
    assert "secret" not in body
    assert ask(port, "/healthz")[0] == 200


def test_a_connection_serves_one_request_after_another(group):
    port = Endpoints("127.0.0.1", 0, group=group).start()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
    connection.connect()
    used = connection.sock
    for _ in range(3):
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"ok"
    assert connection.sock is used
    connection.close()


def test_a_body_is_not_taken_for_the_next_request(group):
    port = Endpoints("127.0.0.1", 0, group=group).start()
    status, _, headers = ask(port, "/healthz", body=b"GET /absent HTTP/1.1\r\n\r\n")
    assert (status, headers["Connection"]) == (200, "close")


def raw(port, data):
    with socket.create_connection(("127.0.0.1", port), timeout=LONG) as connection:
        connection.sendall(data)
        got = b""
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(65536):
                got += part
    return got


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n",
    ],
)
def test_what_is_no_request_is_refused_in_plain_text_and_the_server_goes_on(group, data):
    port = Endpoints("127.0.0.1", 0, group=group).start()
    got = raw(port, data)
    assert re.match(rb"HTTP/1\.1 (4\d\d|505) ", got)
    assert b"<html" not in got.lower()
    assert ask(port, "/healthz")[0] == 200


def test_a_client_that_drips_is_cut_off(group):
    clock = ManualClock()
    server = Endpoints("127.0.0.1", 0, group=group, clock=clock, timeout=1000.0)
    port = server.start()
    with socket.create_connection(("127.0.0.1", port), timeout=LONG) as connection:
        connection.sendall(b"GET / HT")
        eventually(lambda: server._due, within=LONG)
        clock.advance(999.0)
        connection.sendall(b"TP")
        assert ask(port, "/healthz")[0] == 200
        connection.setblocking(False)

        def cut():
            clock.advance(100.0)  # its time may count from when its thread began to read, which is later
            try:
                return connection.recv(1) == b""
            except BlockingIOError:
                return False
            except ConnectionResetError:
                return True

        eventually(cut, within=LONG)
    eventually(lambda: not server._due, within=LONG)


def test_a_slow_handler_is_not_held_against_its_client(group):
    clock, entered, release = ManualClock(), threading.Event(), threading.Event()

    def slow(_request):
        entered.set()
        release.wait(LONG)
        return handlers.text("done")

    port = Endpoints("127.0.0.1", 0, group=group, clock=clock, routes={"/slow": slow}).start()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, port, "/slow")
        assert entered.wait(LONG)
        clock.advance(1000.0)
        for _ in range(2):  # the accepting thread has looked for overdue connections in between
            assert ask(port, "/healthz")[0] == 200
        release.set()
        assert answer.result()[:2] == (200, "done")


def test_connections_beyond_the_limit_are_turned_away(group):
    server = Endpoints("127.0.0.1", 0, group=group, connections=2)
    port = server.start()
    with contextlib.ExitStack() as held:
        for _ in range(2):
            held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=LONG))
        eventually(lambda: len(server._due) == 2, within=LONG)
        assert raw(port, b"").startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    eventually(lambda: not server._due, within=LONG)
    assert ask(port, "/healthz")[0] == 200


def test_stopping_ends_idle_connections_and_the_threads():
    group = Group("test")
    server = Endpoints("127.0.0.1", 0, group=group, timeout=1000.0)
    port = server.start()
    with socket.create_connection(("127.0.0.1", port), timeout=LONG) as idle:
        eventually(lambda: server._due, within=LONG)
        group.request_stop()
        assert group.join(LONG) == ()
        assert idle.recv(1) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=LONG)


def test_an_answer_under_way_is_given_when_the_server_closes():
    group, entered, release = Group("test"), threading.Event(), threading.Event()

    def slow(_request):
        entered.set()
        release.wait(LONG)
        return handlers.text("done")

    server = Endpoints("127.0.0.1", 0, group=group, routes={"/slow": slow})
    port = server.start()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, port, "/slow")
        assert entered.wait(LONG)
        server.close()
        eventually(lambda: "test/http" not in group.alive, within=LONG)
        release.set()
        status, body, headers = answer.result()
    assert (status, body, headers["Connection"]) == (200, "done", "close")
    assert group.join(LONG) == ()


class TestTls:
    def test_serves_with_a_certificate(self, group):
        port = Endpoints("127.0.0.1", 0, group=group, tls=Tls(FILES / "server.crt", FILES / "server.key")).start()
        context = ssl.create_default_context(cafile=FILES / "server.crt")
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=LONG, context=context)
        connection.request("GET", "/healthz")
        assert connection.getresponse().read() == b"ok"
        connection.close()

    def test_a_client_without_tls_harms_nobody(self, group):
        port = Endpoints("127.0.0.1", 0, group=group, tls=Tls(FILES / "server.crt", FILES / "server.key")).start()
        assert b"200" not in raw(port, b"GET /healthz HTTP/1.1\r\n\r\n")
        self.test_serves_with_a_certificate(group)

    def test_a_handshake_that_never_comes_is_cut_off(self, group):
        clock = ManualClock()
        tls = Tls(FILES / "server.crt", FILES / "server.key")
        server = Endpoints("127.0.0.1", 0, group=group, tls=tls, clock=clock, timeout=1000.0)
        with socket.create_connection(("127.0.0.1", server.start()), timeout=LONG) as connection:
            eventually(lambda: server._due, within=LONG)
            clock.advance(1000.0)
            assert connection.recv(1) == b""

    @pytest.mark.parametrize(
        ("cert", "key"),
        [("absent.crt", "server.key"), ("server.crt", "absent.key"), ("server.crt", "other.key"), ("server.key",) * 2],
    )
    def test_files_that_cannot_be_used_are_named_in_one_line(self, cert, key):
        with pytest.raises(ValueError, match="cannot use certificate") as caught:
            Tls(FILES / cert, FILES / key).context()
        assert cert in str(caught.value)
        assert key in str(caught.value)
        assert "\n" not in str(caught.value)


class TestListening:
    def test_a_port_in_use_is_named_with_the_remedy(self, group):
        port = Endpoints("127.0.0.1", 0, group=group).start()
        with pytest.raises(CannotListen) as caught:
            Endpoints("127.0.0.1", port, group=group).start()
        assert str(caught.value) == (
            f"cannot listen on 127.0.0.1:{port}: the port is in use: end what uses it, or choose another port"
        )

    def test_an_address_of_another_host(self):
        with pytest.raises(CannotListen, match=r"cannot listen on 192\.0\.2\.1:0: no interface of this host"):
            listen("192.0.2.1", 0)

    def test_a_name_that_is_none(self):
        with pytest.raises(CannotListen, match=r"cannot listen on not\.a\.host\.invalid:0: .*choose another address"):
            listen("not.a.host.invalid", 0)

    def test_a_port_can_be_taken_again_at_once(self):
        with listen("127.0.0.1", 0) as first:
            port = first.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port)), first.accept()[0]:
                pass
        listen("127.0.0.1", port).close()
