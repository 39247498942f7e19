"""TLS and client certificates on a real etcd: what is wrong is said at once, with the file's name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from component.clock import SystemClock
from lockd.errors import PermissionDenied
from lockd.etcd.connection import Connection
from lockd.etcd.embedded import Embedded
from lockd.ports import Put, Txn
from tests.harness import auth, certs
from tests.harness import etcd as harness
from tests.harness.etcd import opened

pytestmark = pytest.mark.etcd

CLIENT = {"cacert": certs.path("ca.pem"), "cert": certs.path("client.pem"), "key": certs.path("client.key")}


@pytest.fixture(scope="module", params=harness.programs(), ids=harness.version)
def mutual(request):
    """An etcd that wants client certificates."""
    flags = (
        f"--cert-file={certs.path('server.pem')}",
        f"--key-file={certs.path('server.key')}",
        f"--trusted-ca-file={certs.path('ca.pem')}",
        "--client-cert-auth",
    )
    with Embedded.start(etcd=request.param, flags=flags, scheme="https", client=CLIENT) as cluster:
        yield cluster


def test_the_right_certificates_are_let_in(mutual):
    with opened(mutual.connection) as gateway:
        assert gateway.txn(Txn((), (Put("/k", b"v"),)), timeout=5.0).succeeded


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cacert": certs.path("stranger.pem")}, r"is not accepted by cacert .*stranger\.pem"),
        ({"cert": certs.path("impostor.pem"), "key": certs.path("impostor.key")}, r"refuses our cert .*impostor\.pem"),
        ({"cert": None, "key": None}, r"refuses a client without a certificate: give --cert"),
        ({"cacert": None, "cert": None, "key": None, "secure": False}, r"speaks TLS: write https://127\.0\.0\.1:\d+"),
    ],
    ids=["authority", "certificate", "no certificate", "no tls"],
)
def test_the_wrong_ones_are_told_at_once(mutual, change, words):
    clock = SystemClock()
    with opened(replace(mutual.connection, **change)) as gateway:
        started = clock.now()
        with pytest.raises(PermissionDenied, match=words):
            gateway.range("/k", timeout=20.0)
        with pytest.raises(PermissionDenied, match=words):
            gateway.txn(Txn((), (Put("/k", b"v"),)), timeout=20.0)
        assert clock.now() - started < 10.0


def test_tls_to_an_etcd_without_it_is_told_at_once(each_etcd):
    connection = Connection(endpoints=each_etcd.endpoints, cacert=certs.path("ca.pem"))
    with opened(connection) as gateway, pytest.raises(PermissionDenied, match="speaks no TLS: drop https://"):
        gateway.range("/k", timeout=20.0)


def test_a_certificate_of_another_name_is_told(mutual):
    flags = (f"--cert-file={certs.path('elsewhere.pem')}", f"--key-file={certs.path('elsewhere.key')}")
    client = {"cacert": certs.path("ca.pem")}
    with pytest.raises(Exception, match=r"is not accepted by cacert .*[Mm]ismatch"):
        Embedded.start(etcd=mutual.etcd, flags=flags, scheme="https", client=client, within=2.0)


def test_a_member_may_be_dialled_where_its_certificate_is_not_for_if_its_name_is_told(mutual):
    flags = (f"--cert-file={certs.path('elsewhere.pem')}", f"--key-file={certs.path('elsewhere.key')}")
    client = {"cacert": certs.path("ca.pem"), "names": ("elsewhere.test",)}
    with Embedded.start(etcd=mutual.etcd, flags=flags, scheme="https", client=client) as cluster:
        with opened(cluster.connection) as gateway:
            assert gateway.txn(Txn((), (Put("/k", b"v"),)), timeout=5.0).succeeded
        stranger = replace(cluster.connection, names=("another.test",))
        with opened(stranger) as gateway, pytest.raises(PermissionDenied, match=r"not valid for 'another\.test'"):
            gateway.range("/k", timeout=20.0)


def test_a_certificates_name_is_a_user(mutual):
    with opened(mutual.connection) as gateway:
        auth.enable(gateway, readable="/open")
        try:
            assert gateway.txn(Txn((), (Put("/closed", b"v"),)), timeout=5.0).succeeded  # as root, its common name
        finally:
            auth.call(gateway, "AuthDisable")
