"""Fixtures for tests on a real etcd: started once, with a prefix of its own for each test."""

from __future__ import annotations

import os
import signal
import uuid

import pytest
from hypothesis import HealthCheck, Phase, settings

from lockd.etcd.embedded import Embedded
from lockd.etcd.gateway import Gateway
from lockd.etcd.witness import Witness
from replica.cache.mutation import SWITCH
from tests.harness import etcd as harness
from tests.harness.proxy import Proxies

# A shell that starts something in the background has it ignore these, and so would all that the tests start.
for number, handler in (
    (signal.SIGHUP, signal.SIG_DFL),
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGQUIT, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# How long an example takes says something of the machine's load and nothing of the code.
settings.register_profile("project", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile(
    "mutants", settings.get_profile("project"), derandomize=True, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile("project")

# Whoever changes what the caches of a replica in the tests' own process share is found and named.
os.environ[SWITCH] = "true"


def pytest_xdist_auto_num_workers():
    """Half as many again as there are cores: even of the pure tests some wait, for a process or a thread."""
    return max(2, 3 * len(os.sched_getaffinity(0)) // 2)


@pytest.fixture(scope="session")
def etcd():
    """An etcd of one member. Whoever stops, fills or compacts it wants one of their own: `Embedded.start`."""
    with Embedded.start() as cluster:
        yield cluster


@pytest.fixture(scope="session", params=harness.programs(), ids=harness.version)
def each_etcd(request):
    """An etcd of one member, of each version there is."""
    with Embedded.start(etcd=request.param) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def shared_trio():
    """Three members, for `trio`."""
    with Embedded.start(members=3) as cluster:
        yield cluster


@pytest.fixture
def trio(shared_trio):
    """An etcd of three members, which a test may hurt: afterwards all of them run again."""
    yield shared_trio
    harness.heal(shared_trio)


@pytest.fixture
def prefix():
    """A prefix of keys that no other test uses, without a slash at its end."""
    return f"/test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def gateway(etcd):
    """A gateway to `etcd`."""
    opened = Gateway(etcd.connection, purpose="test", witness=Witness(), first=0)
    yield opened
    opened.close()


@pytest.fixture
def proxies(shared_trio):
    """A fault proxy in front of each member of `trio`, in the same order."""
    with Proxies(shared_trio) as made:
        yield made
