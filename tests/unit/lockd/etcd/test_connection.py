from __future__ import annotations

from pathlib import Path

import pytest

from lockd.errors import ConfigError
from lockd.etcd.channel import Channels
from lockd.etcd.connection import Connection


@pytest.mark.parametrize(
    ("endpoints", "bare", "secure"),
    [
        (("127.0.0.1:2379",), ("127.0.0.1:2379",), False),
        (("http://etcd-1:2379/", " http://etcd-2:2379"), ("etcd-1:2379", "etcd-2:2379"), False),
        (("https://etcd-1:2379",), ("etcd-1:2379",), True),
        (("[::1]:2379",), ("[::1]:2379",), False),
    ],
)
def test_endpoints_lose_their_scheme(endpoints, bare, secure):
    connection = Connection(endpoints=endpoints)
    assert (connection.endpoints, connection.secure) == (bare, secure)


@pytest.mark.parametrize("endpoints", [("https://etcd-1:2379",), ("http://[::1]:2379", "http://etcd-2:1"), ("a:1",)])
def test_its_addresses_say_again_what_they_said(endpoints):
    again = Connection(endpoints=Connection(endpoints=endpoints).urls)
    assert again == Connection(endpoints=endpoints)


def test_a_certificate_asks_for_tls():
    assert Connection(cacert=Path("ca.pem")).secure


@pytest.mark.parametrize(
    ("names", "found"),
    [((), (None, None)), (("etcd",), ("etcd", "etcd")), (("etcd-1", "etcd-2"), ("etcd-1", "etcd-2"))],
)
def test_certificates_are_for_the_names_that_are_told(names, found):
    connection = Connection(endpoints=("https://a:1", "https://b:2"), names=names)
    assert (connection.name_of("a:1"), connection.name_of("b:2")) == found
    assert connection.name_of("c:3") is None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"endpoints": ()}, "no endpoint is given"),
        ({"endpoints": ("etcd-1",)}, "endpoint 'etcd-1' has no port: write etcd-1:2379"),
        ({"endpoints": ("etcd-1:0",)}, "port above 65535 or of 0"),
        ({"endpoints": ("etcd-1:70000",)}, "port above 65535 or of 0"),
        (
            {
                "endpoints": (
                    "a:1",
                    "",
                )
            },
            "endpoint '' is not host:port",
        ),
        ({"endpoints": ("a:1/path",)}, "'a:1/path' is not host:port"),
        ({"endpoints": ("user@a:1",)}, "'user@a:1' is not host:port"),
        ({"endpoints": ("unix://a:1",)}, "begin with http:// or https://, not unix://"),
        ({"endpoints": ("a:1", "http://a:1")}, "an endpoint is named twice"),
        ({"endpoints": ("a:1", "b:1", "c:1"), "names": ("a", "b")}, "one TLS server name, or one for each endpoint"),
        ({"endpoints": ("http://a:1", "https://b:1")}, "can't be mixed"),
        ({"endpoints": ("http://a:1",), "cacert": Path("ca")}, "don't use TLS: drop cacert or say https://"),
        ({"cert": Path("c")}, "needs both cert and key"),
        ({"key": Path("k")}, "needs both cert and key"),
        ({"user": "root"}, "user 'root' needs a password"),
        ({"user": "", "password": "x"}, "the user name is empty"),
        ({"password": "x"}, "a password needs a user"),
        ({"user": "\udcff", "password": "x"}, "user '\\udcff' is not UTF-8"),
        ({"user": "root", "password": "\udcff"}, "the password is not UTF-8"),
        ({"names": ("\udcff",)}, "a TLS server name is not UTF-8"),
        ({"endpoints": ("\udcff:1",)}, "endpoint '\\udcff:1' is not host:port"),
        ({"endpoints": ("\udcff",)}, "endpoint '\\udcff' is not host:port"),
        ({"command_timeout": 0.0}, "command timeout must be above 0 s"),
        ({"command_timeout": float("inf")}, "command timeout must be above 0 s"),
    ],
)
def test_what_cannot_be_used_is_told(fields, words):
    with pytest.raises(ConfigError) as caught:
        Connection(**fields)
    assert any(words in problem for problem in caught.value.problems)


def test_every_problem_is_told_at_once():
    with pytest.raises(ConfigError) as caught:
        Connection(endpoints=("x",), user="root", cert=Path("c"), command_timeout=-1)
    assert len(caught.value.problems) == 4


def test_the_password_is_not_shown():
    word = "secret"
    assert word not in repr(Connection(user="root", password=word))


@pytest.mark.parametrize("name", ["cacert", "cert", "key"])
def test_a_missing_file_is_named(tmp_path, name):
    present = tmp_path / "present.pem"
    present.write_text("no PEM")
    files = {"cert": present, "key": present, name: tmp_path / "absent.pem"}
    with pytest.raises(ConfigError, match=rf"{name} .*absent.pem can't be read: No such file"):
        Channels(Connection(**files), purpose="test")


def test_a_file_that_holds_no_certificate_is_named(tmp_path):
    path = tmp_path / "ca.pem"
    path.write_text("no PEM")
    with pytest.raises(ConfigError, match=r"cacert .*ca.pem holds no usable PEM certificate"):
        Channels(Connection(cacert=path), purpose="test")
    with pytest.raises(ConfigError, match=r"cert .*ca.pem with key .*ca.pem can't be used"):
        Channels(Connection(cert=path, key=path), purpose="test")
