"""How the etcd of a project that is there already is reached."""

import threading

import click
import pytest

from chaos.backend.adopted import AdoptedBackend
from chaos.cluster.plan import Plan
from chaos.compose.access import Access
from chaos.compose.finding import Found
from chaos.compose.roster import chosen
from chaos.runner.choosing import Chosen
from lockd.errors import ConfigError
from tests.harness import certs
from tests.harness.clock import ManualClock
from tests.harness.containers import FakeEngine, container

FILES = {"cacert": certs.path("ca.pem"), "cert": certs.path("client.pem"), "key": certs.path("client.key")}


def found():
    engine = FakeEngine().add(container("web", "replica"), container("db", "etcd", ports={2379: "127.0.0.1:4001"}))
    return Found(engine, "p", chosen(engine.containers(), "p"))


def test_where_nothing_is_said_it_is_what_is_published_without_tls():
    connection = Access().to(found())
    assert (connection.endpoints, connection.secure) == (("127.0.0.1:4001",), False)
    assert Access().is_usual
    assert Access().words() == []


def test_files_go_with_what_is_published():
    access = Access.of("", **FILES)
    connection = access.to(found())
    assert (connection.endpoints, connection.cacert, connection.key) == (
        ("127.0.0.1:4001",),
        FILES["cacert"],
        FILES["key"],
    )
    assert connection.secure
    assert not access.is_usual


def test_a_member_that_is_dialled_by_its_address_is_known_by_its_service():
    assert Access.of("", **FILES).to(found()).name_of("127.0.0.1:4001") == "db"
    assert Access.of("https://a:1", **FILES).to(found()).name_of("a:1") is None


def test_a_named_etcd_is_taken_and_asked_for_again_in_the_same_words():
    access = Access.of(" https://a:1, https://b:2 ", **FILES)
    assert access.to(found()).endpoints == ("a:1", "b:2")
    assert access.to(found()).secure
    words = ["--endpoints=https://a:1,https://b:2", *(f"--{name}={path}" for name, path in FILES.items())]
    assert access.words() == words
    assert Chosen("compose", "p", None, access).words() == ["--backend=compose", "--project=p", *words]


@pytest.mark.parametrize(
    ("endpoints", "files", "told"),
    [
        ("", {"cert": FILES["cert"]}, "needs both cert and key"),
        ("a", {}, "endpoint 'a' has no port"),
        ("", {"cacert": certs.path("nowhere.pem")}, "nowhere.pem"),
        ("http://a:1", {"cacert": FILES["cacert"]}, "http:// endpoints don't use TLS"),
    ],
)
def test_what_can_not_be_used_is_said_at_once(endpoints, files, told):
    with pytest.raises(ConfigError, match=told):
        Access.of(endpoints, **files)
    values = {"endpoints": endpoints, "cacert": None, "cert": None, "key": None} | files
    with pytest.raises(click.UsageError, match=told):
        Access.taken(values)


@pytest.mark.parametrize(
    ("access", "expected"), [(Access(), ("127.0.0.1:4001",)), (Access.of("a:1,b:2"), ("a:1", "b:2"))]
)
def test_a_run_on_a_project_goes_there(access, expected, tmp_path):
    seen = []
    made = AdoptedBackend(found(), access).standing(
        Plan(folder=tmp_path), clock=ManualClock(), stop=threading.Event(), progress=seen.append
    )
    with made as standing:
        assert standing.connection.endpoints == expected
    assert len(seen) == 1
