from __future__ import annotations

import contextlib
import hashlib
import http.client
import re
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from component import endpoints, handlers
from component.authentication import Tokens, credentials
from component.authorization import known_users
from component.endpoints import Endpoints
from component.health import Check
from component.lifecycle import Group
from component.listening import CannotListen, Tls, listen
from tests.harness import certs
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


class TestUsers:
    """Credentials on the wire: a certificate's name, a token, and what they open."""

    @pytest.fixture
    def port(self, group):
        tls = Tls(certs.path("server.pem"), certs.path("server.key"), client_ca=certs.path("ca.pem"))
        tokens = Tokens({hashlib.sha256(b"one").digest(): "ann"})
        server = Endpoints(
            "127.0.0.1",
            0,
            group=group,
            tls=tls,
            routes={"/who": lambda request: handlers.text(request.user)},
            authenticate=credentials(lambda: tokens),
            authorize=known_users(("/healthz",)),
        )
        return server.start()

    def get(self, port, path, *, pair="", bearer=""):
        context = ssl.create_default_context(cafile=certs.path("ca.pem"))
        if pair:
            context.load_cert_chain(certs.path(f"{pair}.pem"), certs.path(f"{pair}.key"))
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=LONG, context=context)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {bearer}"} if bearer else {})
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def test_a_certificate_of_our_authority_names_the_user(self, port):
        assert self.get(port, "/who", pair="client") == (200, "root")

    def test_a_token_names_the_user(self, port):
        assert self.get(port, "/who", bearer="one") == (200, "ann")

    def test_who_brings_nothing_gets_only_what_is_always_allowed(self, port):
        assert self.get(port, "/who")[0] == 401
        assert self.get(port, "/healthz") == (200, "ok")

    def test_a_certificate_of_another_authority_ends_the_handshake(self, port):
        with pytest.raises(OSError, match=r"(?i)unknown ca|reset|EOF|broken pipe"):
            self.get(port, "/healthz", pair="impostor")
        assert self.get(port, "/healthz") == (200, "ok")

    def test_a_target_with_a_host_is_judged_by_its_path(self, port):
        assert self.get(port, "http://x/who")[0] == 401
        assert self.get(port, "/healthz/../who")[0] == 401
        assert self.get(port, "/%77ho")[0] == 401


class TestRotation:
    def test_a_new_certificate_is_served_without_a_restart(self, group, tmp_path):
        cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"

        def put(name):
            for path, kind in ((cert, "pem"), (key, "key")):
                path.write_bytes(certs.path(f"{name}.{kind}").read_bytes())

        clock = ManualClock()
        put("server")
        port = Endpoints("127.0.0.1", 0, group=group, tls=Tls(cert, key), clock=clock).start()
        first = ssl.get_server_certificate(("127.0.0.1", port), timeout=LONG)
        cert.write_bytes(certs.path("elsewhere.pem").read_bytes())
        clock.advance(2.0)
        assert ssl.get_server_certificate(("127.0.0.1", port), timeout=LONG) == first  # its key is not there yet
        put("elsewhere")
        clock.advance(2.0)
        assert ssl.get_server_certificate(("127.0.0.1", port), timeout=LONG) != first

    def test_an_old_version_is_not_spoken(self, group):
        tls = Tls(certs.path("server.pem"), certs.path("server.key"), minimum=ssl.TLSVersion.TLSv1_3)
        port = Endpoints("127.0.0.1", 0, group=group, tls=tls).start()
        context = ssl.create_default_context(cafile=certs.path("ca.pem"))
        for version, spoken in ((ssl.TLSVersion.TLSv1_3, True), (ssl.TLSVersion.TLSv1_2, False)):
            context.maximum_version = version
            with socket.create_connection(("127.0.0.1", port), timeout=LONG) as connection:
                if spoken:
                    context.wrap_socket(connection, server_hostname="127.0.0.1").close()
                else:
                    with pytest.raises(ssl.SSLError):
                        context.wrap_socket(connection, server_hostname="127.0.0.1")


class TestRudeClients:
    def test_endless_headers_are_cut_short(self, group):
        port = Endpoints("127.0.0.1", 0, group=group).start()
        got = raw(port, b"GET /healthz HTTP/1.1\r\n" + b"".join(b"h%d: %s\r\n" % (n, b"v" * 4000) for n in range(90)))
        assert got.startswith(b"HTTP/1.1 431 ")
        assert ask(port, "/healthz")[0] == 200

    def test_a_long_target_is_refused(self, group):
        port = Endpoints("127.0.0.1", 0, group=group).start()
        assert raw(port, b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 414 ")

    def test_pipelined_requests_are_answered_in_their_order(self, group):
        port = Endpoints("127.0.0.1", 0, group=group, routes={"/x": lambda _: handlers.text("x")}).start()
        requests = (
            b"GET /healthz HTTP/1.1\r\n\r\nHEAD /x HTTP/1.1\r\n\r\nPUT /x HTTP/1.1\r\n\r\nGET /x HTTP/1.0\r\n\r\n"
        )
        got = raw(port, requests)
        assert re.findall(rb"HTTP/1\.1 (\d+)", got) == [b"200", b"200", b"405", b"200"]
        assert got.endswith(b"\r\n\r\nx")

    def test_a_large_body_that_nobody_wants_does_not_cost_the_answer(self, group):
        port = Endpoints("127.0.0.1", 0, group=group).start()
        status, _, headers = ask(port, "/healthz", method="POST", body=b"x" * 4_000_000)
        assert (status, headers["Connection"]) == (405, "close")

    def test_nobody_is_told_to_send_a_body(self, group):
        port = Endpoints("127.0.0.1", 0, group=group).start()
        got = raw(port, b"PUT /healthz HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n")
        assert got.startswith(b"HTTP/1.1 405 ")

    def test_an_idle_client_makes_room_for_a_probe(self, group):
        clock = ManualClock()
        server = Endpoints("127.0.0.1", 0, group=group, connections=2, clock=clock, timeout=1000.0)
        port = server.start()
        with contextlib.ExitStack() as held:
            idle = []
            for _ in range(2):
                idle.append(held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=LONG)))
                eventually(lambda: len(server._due) == len(idle), within=LONG)
                clock.advance(0.1)
            clock.advance(5.0)
            assert ask(port, "/healthz")[0] == 200
            assert idle[0].recv(1) == b""
        eventually(lambda: not server._due, within=LONG)

    def test_a_client_that_never_rests_leaves_room_for_others(self, group):
        release = threading.Event()
        routes = {"/busy": lambda _: handlers.text(str(release.wait(LONG)))}
        server = Endpoints("0.0.0.0", 0, group=group, connections=4, routes=routes)
        port = server.start()
        with ThreadPoolExecutor(3) as pool:
            busy = [pool.submit(ask, port, "/busy") for _ in range(3)]
            eventually(lambda: len(server._due) == 3 and not any(server._due.values()), within=LONG)
            assert ask(port, "/livez")[0] == 503
            with socket.create_connection(("127.0.0.1", port), LONG, source_address=("127.0.0.2", 0)) as other:
                other.sendall(b"GET /livez HTTP/1.0\r\n\r\n")
                assert other.recv(64).startswith(b"HTTP/1.1 200 ")
            release.set()
            assert {each.result()[0] for each in busy} == {200}

    def test_pages_that_hang_do_not_keep_a_probe_from_its_answer(self, group):
        release = threading.Event()
        server = Endpoints(
            "127.0.0.1", 0, group=group, routes={"/slow": lambda _: handlers.text(str(release.wait(LONG)))}
        )
        port = server.start()
        with ThreadPoolExecutor(8) as pool:
            answers = [pool.submit(ask, port, "/slow") for _ in range(8)]
            eventually(lambda: len(server._due) >= 8, within=LONG)
            assert ask(port, "/healthz")[0] == 200
            release.set()
            assert {answer.result()[0] for answer in answers} == {200}
