from __future__ import annotations

import pytest

from chaos.compose.command import FAILED, USAGE
from chaos.compose.explaining import PORTS, explained

V1_PORT = """Creating lockd_replica-1_1 ...
ERROR: for lockd_replica-1_1  Cannot start service replica-1: driver failed programming external connectivity on
endpoint r-1 (1f2): Error starting userland proxy: listen tcp4 127.0.0.1:10261: bind: address already in use
"""
V2_PORT = """ Container lockd-lockd-1  Starting
Error response from daemon: driver failed programming external connectivity on endpoint lockd-lockd-1 (9c1): Bind for
127.0.0.1:7600 failed: port is already allocated
"""
NO_REGISTRY = (
    'ERROR: Get "https://gcr.example/v2/": dial tcp: lookup gcr.example on 10.0.0.2:53: no such host\n',
    (
        'Error response from daemon: Get "https://registry-1.example/v2/": net/http: request canceled (Client'
        ".Timeout exceeded while awaiting headers)\n"
    ),
    (
        "failed to solve: python:3.12: failed to resolve source metadata for docker.io/python:3.12: failed to do "
        'request: Head "https://registry-1.example/v2/library/python/manifests/3.12": dial tcp 127.0.0.1:443: connect: '
        "connection refused\n"
    ),
    'Error response from daemon: Get "https://gcr.example/v2/": x509: certificate signed by unknown authority\n',
)
NO_IMAGE = (
    (
        "Error response from daemon: pull access denied for nosuch, repository does not exist or may require login",
        "nosuch",
    ),
    ("ERROR: manifest for etcd:v9 not found: manifest unknown: manifest unknown", "etcd:v9"),
    ("failed to solve: docker.io/library/python:9: not found", "docker.io/library/python:9"),
)
NO_PROGRAM = (
    "ERROR: for replica-1  Cannot start service replica-1: OCI runtime create failed: container_linux.go:380: starting "
    'container process caused: exec: "replica": executable file not found in $PATH: unknown'
)


@pytest.mark.parametrize(("text", "port", "name"), [(V1_PORT, 10261, "REPLICA_1_PORT"), (V2_PORT, 7600, "LOCKD_PORT")])
def test_a_port_that_is_taken_is_named_with_its_variable(text, port, name):
    refusal = explained(text.replace("\n127", " 127"))
    assert str(refusal) == f"port {port} of this host is taken: set {name} to a free one, or end what holds it"
    assert refusal.code == FAILED


def test_a_port_of_one_s_own_has_no_variable():
    refusal = explained("Bind for 0.0.0.0:9999 failed: port is already allocated")
    assert str(refusal) == "port 9999 of this host is taken: name another, or end what holds it"


@pytest.mark.parametrize("text", NO_REGISTRY)
def test_without_a_registry_there_are_bases(text):
    refusal = explained(text)
    assert str(refusal).startswith("no container registry can be reached (")
    assert "make bases" in str(refusal)
    assert refusal.code == FAILED


@pytest.mark.parametrize(("text", "image"), NO_IMAGE)
def test_an_image_that_is_not_there_is_named(text, image):
    refusal = explained(text)
    assert str(refusal).startswith(f"there is no image {image}: mend LOCKD_IMAGE, PYTHON_IMAGE or ETCD_IMAGE")
    assert refusal.code == USAGE


def test_an_image_without_the_program_is_the_wrong_one():
    refusal = explained(NO_PROGRAM)
    assert str(refusal).startswith("an image has no program replica: it is the wrong one: mend LOCKD_IMAGE")
    assert refusal.code == USAGE


def test_a_name_that_is_none():
    refusal = explained("Error response from daemon: invalid reference format: repository name must be lowercase")
    assert str(refusal).startswith("that is no name of an image (invalid reference format: ")
    assert refusal.code == USAGE


def test_no_network_left():
    refusal = explained("ERROR: could not find an available, non-overlapping IPv4 address pool among the defaults")
    assert str(refusal) == "Docker has no network addresses left: docker network prune"


@pytest.mark.parametrize(("text", "told"), [("\n", "it does not say why"), ("a\nERROR: b\n", "b")])
def test_anything_else_is_told_by_its_last_line(text, told):
    assert str(explained(text)) == f"docker failed ({told}): make logs tells what the containers say"


def test_each_port_that_is_published_has_its_variable():
    from tools.compose import FOLDER  # noqa: PLC0415 - only here

    text = (FOLDER / "docker-compose.yml").read_text(encoding="utf-8")
    for port, name in PORTS.items():
        assert f"${{{name}:-{port}}}:" in text
