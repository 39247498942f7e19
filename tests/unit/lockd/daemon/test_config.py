"""What `lockd serve` refuses to serve, and how it says so."""

from __future__ import annotations

import socket

import pytest
from click.testing import CliRunner

from lockd.daemon.config import ServeConfig
from lockd.daemon.listening import Address, Security, bind
from lockd.daemon.serve import serve
from lockd.errors import ConfigError
from lockd.etcd.connection import Connection

ETCD = Connection(endpoints=("127.0.0.1:2379",))


def problems(*listen, **fields):
    try:
        ServeConfig(connection=ETCD, prefix="/lockd", listen=tuple(map(Address, listen)), **fields)
    except ConfigError as error:
        return error.problems
    return ()


def security(tmp_path, *names):
    files = {name: tmp_path / name for name in names}
    for file in files.values():
        file.write_text("")
    return Security(**files)


@pytest.mark.parametrize("listen", ["127.0.0.1:7600", "localhost:0", "[::1]:7600", "127.9.9.9:1"])
def test_loopback_needs_no_certificate(listen):
    assert problems(listen) == ()


@pytest.mark.parametrize("listen", ["0.0.0.0:7600", "10.0.0.1:7600", "[::]:7600", "lockd.example.org:7600"])
def test_what_others_can_reach_does(tmp_path, listen):
    assert "--insecure-listen" in problems(listen)[0]
    assert problems(listen, insecure_listen=True) == ()
    assert problems(listen, security=security(tmp_path, "cert", "key", "client_ca")) == ()
    assert problems(listen, security=security(tmp_path, "cert", "key")) != (), "the client must prove itself, too"


def test_every_problem_is_told(tmp_path):
    found = problems(
        "nowhere", "unix:x", f"unix:{tmp_path}/none/x", security=security(tmp_path, "client_ca"), max_streams=0,
        max_streams_per_peer=0, http="x",
    )  # fmt: skip
    wanted = (
        "HOST:PORT",
        "slash",
        "no folder",
        "needs TLS",
        "--max-streams ",
        "--max-streams-per-peer",
        "--http-listen",
    )
    assert [text for text in wanted if not any(text in problem for problem in found)] == []


@pytest.mark.parametrize("address", [":7600", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536", ""])
def test_an_address_has_a_host_and_a_port(address):
    assert "HOST:PORT" in problems(address)[0]


def test_a_socket_s_path_can_be_too_long(tmp_path):
    assert "107 bytes" in problems(f"unix:{tmp_path}/{'x' * 200}")[0]


@pytest.mark.parametrize("address", ["unix:/\udcff.sock", "\udcff:7600"])
def test_an_address_is_utf8(address):
    assert problems(address, insecure_listen=True) == (
        f"--listen {address!r}: an address must be UTF-8: choose another",
    )
    assert "--http-listen" in problems("127.0.0.1:0", http="\udcff:1")[0]


def test_its_help_names_the_pages_that_it_serves():
    text = CliRunner().invoke(serve, ["--help"]).output
    assert "/livez, /readyz and /metrics" in " ".join(text.split())


def test_files_that_are_no_certificates_are_named(tmp_path):
    with pytest.raises(ConfigError, match="cert"):
        security(tmp_path, "cert", "key").credentials()


def test_a_file_in_the_socket_s_place_is_left_alone(tmp_path):
    (tmp_path / "x").write_text("precious")
    with pytest.raises(ConfigError, match="no socket"):
        bind(None, Address(f"unix:{tmp_path}/x"), None)
    assert (tmp_path / "x").read_text() == "precious"


def test_a_socket_that_is_in_use_is_left_alone(tmp_path):
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(f"{tmp_path}/x")
        other.listen(1)
        with pytest.raises(ConfigError, match="another process"):
            bind(None, Address(f"unix:{tmp_path}/x"), None)
