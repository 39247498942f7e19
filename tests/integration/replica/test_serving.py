"""What replicas serve over HTTP: who is ready, what each page says, and to whom."""

from __future__ import annotations

import http.client
import json
import ssl

import pytest
from click.testing import CliRunner

from replica.app.serving import Serving
from replica.commands import main
from tests.harness import certs
from tests.harness import crew as harness
from tests.harness.local import nodes, pods
from tests.harness.replicas import HOST, STEADY, Answer, ask
from tests.harness.wait import eventually

pytestmark = pytest.mark.etcd

READINESS = ["ping", "leaderElection", "etcd", "sched-handler-sync", "shutdown"]


def checks(body):
    return [line.removeprefix("[+]").removesuffix(" ok") for line in body.splitlines() if line.startswith("[+]")]


@pytest.fixture
def pair(etcd, prefix, tmp_path):
    """A leader that has bound a pod, and a standby."""
    with harness.crew(etcd.connection, prefix, tmp_path) as crew:
        crew.timing = STEADY
        leader = crew.join("a")
        crew.until_leads(leader)
        standby = crew.join("b")
        crew.until_ready(standby)
        crew.create(nodes(1))
        crew.create(pods(0, 1))
        crew.until_bound(1)
        yield leader, standby


def test_the_pages_of_a_leader_and_of_a_standby(pair):
    for replica in pair:
        assert ask(replica.port, "/readyz").body == "ok"
        assert checks(ask(replica.port, "/readyz?verbose").body) == READINESS
        assert checks(ask(replica.port, "/livez?verbose").body) == ["ping"]
        assert checks(ask(replica.port, "/healthz?verbose").body) == ["ping", "leaderElection"]
        for name in READINESS:
            assert ask(replica.port, f"/readyz/{name}").body == "ok"
        assert "[+]etcd excluded: ok" in ask(replica.port, "/readyz?exclude=etcd&verbose").body
        assert ask(replica.port, "/livez/etcd").status == 404
        configured = json.loads(ask(replica.port, "/configz").body)["componentconfig"]
        assert configured["leaderElection"]["leaseDuration"] == "15s"
        assert ask(replica.port, "/flagz").status == 200
    leader, standby = pair
    assert [ask(replica.port, "/leader").status for replica in pair] == [200, 503]
    assert [json.loads(ask(replica.port, "/statusz").body)["role"] for replica in pair] == ["leader", "standby"]

    def told():
        return ask(leader.port, "/metrics/resources").body

    eventually(lambda: 'pod="pod-0",node="node-0"' in told(), within=10.0, what="the bind is told")
    assert 'resource="cpu",unit="cores"} 0.1\n' in told()
    assert ask(standby.port, "/metrics/resources") == Answer(200, "")
    assert "kube_pod_resource" not in ask(leader.port, "/metrics").body


def test_with_a_client_ca_and_a_token_file_a_replica_answers_those_it_knows(etcd, prefix, tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text("t,prometheus,1\n")
    serving = Serving(
        address=HOST,
        port=0,
        certificate=(certs.path("server.pem"), certs.path("server.key")),
        client_ca=certs.path("ca.pem"),
        token_file=tokens,
    )

    def get(path, *, certified=False, **headers):
        context = ssl.create_default_context(cafile=certs.path("ca.pem"))
        if certified:
            context.load_cert_chain(certs.path("client.pem"), certs.path("client.key"))
        connection = http.client.HTTPSConnection(HOST, replica.port, timeout=10.0, context=context)
        try:
            connection.request("GET", path, headers=headers)
            return connection.getresponse().status
        finally:
            connection.close()

    with harness.crew(etcd.connection, prefix, tmp_path) as crew:
        crew.timing = STEADY
        replica = crew.join("a", serving=serving)
        eventually(lambda: replica.leads, within=20.0)
        for path in ("/metrics", "/metrics/resources", "/configz", "/statusz", "/flagz", "/readyz/etcd"):
            assert get(path) == 401
            assert get(path, Authorization="Bearer t") == 200
            assert get(path, certified=True) == 200
        for path in ("/healthz", "/livez", "/readyz", "/leader"):
            assert get(path) == 200
            assert get(path, Authorization="Bearer wrong") == 401
        healthcheck = ["healthcheck", "--tls", f"--secure-port={replica.port}"]
        assert CliRunner().invoke(main, healthcheck).output == "ok\n"
