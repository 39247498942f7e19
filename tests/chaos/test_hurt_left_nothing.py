"""Whatever ends `chaosctl hurt` in the middle of a fault: no process, rule, stopped process or file of it is left.

The faults are those of the registry: one that is added there is tested here.
"""

import signal

import pytest

from chaos.faults import registry
from tests.harness.hurting import LOCAL, Hurt, hurtable, words
from tests.harness.wait import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with hurtable(tmp_path_factory.mktemp("hurt") / "cluster", daemons=1) as made:
        yield made


BY = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)


@BY
@pytest.mark.parametrize("name", sorted(name for name, fault in registry.FAULTS.items() if fault.needs <= set(LOCAL)))
def test_nothing_is_left_of_a_fault(cluster, tmp_path, name, number):
    leaves_nothing(cluster, tmp_path, name, words(name), number)


@BY
@pytest.mark.parametrize(
    ("name", "further"),
    [
        ("kill", ["etcd-leader"]),
        ("kill", ["etcd"]),
        ("terminate", ["etcd-follower"]),
        ("pause", ["etcd-leader"]),
        ("quorum-loss", ["--set=how=kill"]),
        ("cut", ["etcd-1"]),
        ("cut", ["all", "--set=off=all", "--set=mode=refuse"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_nothing_is_left_of_a_fault_that_is_aimed_otherwise(cluster, tmp_path, name, further, number):
    leaves_nothing(cluster, tmp_path, name, [*further, f"--{name}"], number)


def leaves_nothing(cluster, tmp_path, name, asked, number):
    """Apply a fault, end the tool in the middle of it by a signal, and look."""
    eventually(cluster.restored, within=100.0, what="a healthy cluster")
    before = cluster.content()
    hurt = Hurt(cluster.folder, tmp_path / "temporary", [*asked, "--for=1h"])
    try:
        hurt.await_proof(name)
        hurt.process.send_signal(number)
        code = hurt.process.wait(100)
    finally:
        hurt.process.kill()
        hurt.process.wait()
    assert code == (-signal.SIGKILL if number is signal.SIGKILL else 0), hurt.said
    if code == 0:
        assert any(line.startswith("healed: ") for line in hurt.said.splitlines()), hurt.said
        assert hurt.living() == []
        assert cluster.left() == [], hurt.said
    eventually(lambda: not hurt.living(), within=60.0, what="the end of all its processes")
    eventually(lambda: not cluster.left(), within=60.0, what=f"nothing left of {name}: {hurt.said}")
    eventually(cluster.restored, within=100.0, what=f"a healthy cluster after {name}")
    assert cluster.content() == before
    assert list(hurt.temporary.iterdir()) == []
