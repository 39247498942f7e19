"""The same cluster with TLS everywhere."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request

import grpc
import pytest

from tests.harness import engine
from tests.harness.engine import ROOT, WITHIN, Docked
from tests.harness.wait import eventually
from tools import compose as tool
from tools.engine import Refusal

pytestmark = [pytest.mark.compose, pytest.mark.slow, pytest.mark.timeout(2 * WITHIN)]

USER = ROOT / "compose" / ".tls" / "user"
REPLICA = ROOT / "compose" / ".tls" / "replica"
PROOF = {"cacert": "etcd-ca.pem", "cert": "etcd.pem", "key": "etcd.key"}


def status(url, *, certified):
    context = ssl.create_default_context(cafile=USER / "ca.pem")
    if certified:
        context.load_cert_chain(USER / "user.pem", USER / "user.key")
    try:
        with urllib.request.urlopen(url, context=context, timeout=10.0) as page:  # noqa: S310 - https
            return page.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def served(port, *, certified):
    """Does lockd let a client in?"""
    key, cert = ((USER / name).read_bytes() if certified else None for name in ("user.key", "user.pem"))
    credentials = grpc.ssl_channel_credentials((USER / "ca.pem").read_bytes(), key, cert)
    with grpc.secure_channel(f"localhost:{port}", credentials) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=20.0 if certified else 5.0)
        except grpc.FutureTimeoutError:
            return False
        return True


def test_everybody_proves_who_they_are(tmp_path):
    engine.needed()
    with Docked(tls=True) as cluster:
        leader = tool.leading(cluster.replicas())
        assert leader.url.startswith("https://127.0.0.1:")
        assert status(f"{leader.url}/leader", certified=False) == 200
        assert status(f"{leader.url}/statusz", certified=False) == 401
        assert status(f"{leader.url}/statusz", certified=True) == 200
        # presence: a standby has heard the leader's identity by mutual TLS
        standby = next(each for each in cluster.replicas() if each.id != leader.container.id)
        port = standby.published(tool.SERVED)
        context = ssl.create_default_context(cafile=USER / "ca.pem")
        context.load_cert_chain(USER / "user.pem", USER / "user.key")

        def watches_over():
            with urllib.request.urlopen(f"https://127.0.0.1:{port}/statusz", context=context, timeout=10.0) as page:
                return json.load(page)["watchesOver"]

        assert eventually(watches_over, within=WITHIN).startswith(f"{leader.container.service}_")
        assert served(cluster.ports["LOCKD_PORT"], certified=True)
        assert not served(cluster.ports["LOCKD_PORT"], certified=False)
        # etcd takes nobody without a certificate of its authority
        assert "replica-1" in cluster.run(standby, "replicactl", "list")
        with pytest.raises(Refusal):
            cluster.run(standby, "env", "-u", "ETCDCTL_CERT", "-u", "ETCDCTL_KEY", "replicactl", "list")
        # so do those who hurt it, and judge it by its history
        proof = [f"--{flag}={REPLICA / name}" for flag, name in PROOF.items()]
        project = f"--project={cluster.project}"
        for scenario in ("kill-leader", "kill-lock-holder"):
            said = engine.chaosctl("run", scenario, "--trials=1", project, *proof, "-o", "json")
            assert said.code == 0, said.stderr
            assert [check for check in json.loads(said.stdout)["checks"] if not check["ok"]] == []
        said = engine.chaosctl("run", "kill-leader", "--trials=1", project, TMPDIR=str(tmp_path))
        (problem,) = [line for line in said.stderr.splitlines() if line.startswith("error: ")]
        assert (said.code, "speaks TLS: " in problem, "--cacert" in problem) == (1, True, True), said.stderr
        said = cluster.make("kill")
        print(said.stdout)
        assert said.code == 0, said.stderr
