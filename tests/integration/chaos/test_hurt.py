"""`chaosctl hurt` on a real cluster: what it tells, and what it leaves when it is killed. Each fault: tests/chaos."""

import json
import signal

import pytest
from click.testing import CliRunner

from chaos.ctl import main
from tests.harness.hurting import Hurt, hurtable, process
from tests.harness.wait import eventually


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with hurtable(tmp_path_factory.mktemp("hurt") / "cluster", members=1, replicas=1, needs=()) as made:
        yield made


def chaosctl(*words):
    return CliRunner().invoke(main, [str(word) for word in words])


def test_both_proofs_are_told(cluster):
    (target,) = cluster.cluster.replicas()
    done = chaosctl("hurt", f"--dir={cluster.folder}", "leader", "--pause=0s", "--seed=7", "-o", "json")
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    assert document.pop("at").endswith("Z")
    assert document.pop("lasted_s") >= 0
    assert document == {
        "schema": 1,
        "fault": "pause",
        "parameters": {},
        "role": "leader",
        "targets": [
            {
                "name": "replica-1",
                "identity": target.identity,
                "pid": target.pid,
                "started": target.started,
                "address": target.address,
            }
        ],
        "proof": f"replica-1 (pid {target.pid}) is stopped",
        "healing": "replica-1 goes on",
        "seed": 7,
    }


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=lambda number: number.name)
def test_whoever_was_stopped_goes_on_when_it_is_ended(cluster, tmp_path, number):
    (target,) = cluster.cluster.etcd_members()
    hurt = Hurt(cluster.folder, tmp_path / "temporary", ["etcd-1", "--pause", "--for=1h"])
    hurt.await_proof("pause")
    assert process(target).state == "T"
    hurt.process.send_signal(number)
    hurt.process.wait(100)
    eventually(lambda: process(target).state not in ("T", "t"), within=60.0)
    eventually(lambda: not hurt.living(), within=60.0)
    assert list(hurt.temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["replica-7", "--kill"], "error: nobody is replica-7 at this moment"),
        (["--move-leader"], "error: etcd-1 is the only etcd member there is: nobody else can lead"),
    ],
    ids=["nobody", "nobody else"],
)
def test_what_can_not_be_had_is_one_line(cluster, words, told):
    done = chaosctl("hurt", f"--dir={cluster.folder}", *words)
    assert (done.exit_code, len(done.stderr.splitlines())) == (1, 1), done.stderr
    assert done.stderr.startswith(told)
