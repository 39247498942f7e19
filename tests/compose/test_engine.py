"""The Docker engine does what the tests without one take for granted."""

import signal
import uuid
from dataclasses import replace

import pytest

from chaos.compose import signalling
from chaos.compose.container import PROJECT, ROLE, SERVICE
from chaos.compose.engine import DockerEngine
from component.clock import SystemClock
from tests.harness import engine as harness
from tests.harness.engine_contract import EngineContract
from tests.harness.wait import eventually
from tools import compose as tool
from tools.engine import docker

pytestmark = [pytest.mark.compose, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def image(cluster):
    """That of the project, which is here once its cluster is."""
    return tool.variable("LOCKD_IMAGE") or tool.IMAGE


@pytest.fixture(scope="module")
def network():
    harness.needed()
    name = f"lockd-test-{uuid.uuid4().hex[:8]}"
    docker("network", "create", name)
    yield name
    docker("network", "rm", name)


class TestDocker(EngineContract):
    @pytest.fixture
    def engine(self, image):
        return DockerEngine()

    @pytest.fixture
    def running(self, engine, image, network):
        name = f"lockd-test-{uuid.uuid4().hex[:8]}"
        labels = {PROJECT: name, SERVICE: "web", ROLE: "replica"}
        words = [word for key, value in labels.items() for word in ("--label", f"{key}={value}")]
        words += ["--restart=unless-stopped", f"--network={network}", "--network-alias=web", "--init", f"--name={name}"]
        made = docker("run", "--detach", *words, image, "sleep", "1000").strip()
        yield engine.container(made)
        docker("rm", "--force", "--volumes", made)

    @pytest.fixture
    def crash(self, engine):
        return lambda running: signalling.Aim.at(engine, running, SystemClock()).send(signal.SIGKILL)


def test_from_inside_a_crash_is_one_too(cluster):
    """As with an engine whose processes are not of this host."""
    engine = DockerEngine()
    replica = engine.container(cluster.replicas()[0].id)
    elsewhere = replace(replica, pid=0)
    assert signalling.on_this_host(elsewhere, SystemClock()) is None
    signalling.Aim.at(engine, elsewhere, SystemClock()).send(signal.SIGKILL)
    eventually(lambda: engine.container(replica.id).started != replica.started, within=harness.WITHIN)
    cluster.whole()
