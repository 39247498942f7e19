"""A leader that is stopped between asking whether it leads and sending a bind: what it had decided is refused."""

import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from chaos.cluster.hosted import Continue
from chaos.faults.clocks import environment
from chaos.faults.custody import Custody
from chaos.faults.effect import Effect, Moment, shown
from chaos.faults.errors import NotApplied, NotAvailable
from chaos.faults.fault import Kind
from chaos.faults.place import Place
from chaos.faults.processes import resume
from chaos.faults.remedies import LocalRemedies
from chaos.faults.undo import Undo
from lockd.ports import LockName
from tests.chaos.planted.stalled_write import VARIABLE
from tests.harness.hurting import process
from tests.harness.local import CLOCK, NEVER, local, nodes, pods
from tests.harness.wait import eventually

LAUNCHER = "tests.chaos.planted.stalled_write"
PODS = 300


@dataclass(frozen=True, slots=True)
class StallBeforeWrite:
    """Stops a leader between asking whether it leads and sending a bind, until healed.

    The replica must have been started by the launcher.
    """

    name = "stall-before-write"
    aims = frozenset({Kind.REPLICA})
    needs = frozenset()

    def apply(self, scene, targets):
        (target,) = targets
        order = environment(target).get(VARIABLE)
        if order is None:
            raise NotAvailable(f"{target.name} was not started by {LAUNCHER}")
        moment = Moment.now(scene.clock)
        with Undo() as undo:
            promise = scene.guard.promise(Continue(target.pid, target.started))

            def heal():
                Path(order).unlink(missing_ok=True)
                proof = resume(scene, target)
                promise.release()
                return proof

            undo.add(heal)
            Path(order).touch()

            def stands():
                stopped = process(target).state == "T" and not Path(order).exists()
                return f"{target.name} (pid {target.pid}) stands before a bind that it was to send" if stopped else None

            proof = shown(scene, stands, f"{target.name} had no bind to send")
        return Effect(moment, proof, undo)


@pytest.fixture
def cluster(tmp_path):
    variables = {f"replica-{number}": {VARIABLE: str(tmp_path / f"stall-{number}")} for number in (1, 2, 3)}
    program = (sys.executable, "-m", LAUNCHER)
    with local(tmp_path / "cluster", program=program, environment=variables) as made:
        yield made


def place(cluster):
    folder = cluster.plan.folder
    lock = LockName(cluster.plan.prefix, "kube-system", "kube-scheduler")
    return Place(
        cluster=cluster.cluster, gateway=cluster.gateway, lock=lock, remedies=LocalRemedies(folder), folder=folder
    )


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_what_was_decided_before_a_stall_is_refused_after_it(cluster):
    cluster.create(nodes(10))
    leader = cluster.leader()
    order = environment(leader)[VARIABLE]
    done = threading.Event()
    failures = []

    def create():
        try:
            for first in range(0, PODS, 10):
                cluster.create(pods(first, 10))
                CLOCK.wait(done, 0.1)
        except Exception as error:  # noqa: BLE001 - told by the test
            failures.append(error)

    creator = threading.Thread(target=create, daemon=True)
    with Custody(place(cluster), stop=NEVER) as custody:
        creator.start()
        applied = custody.apply(StallBeforeWrite(), [leader])
        assert "stands before a bind" in applied.proof
        cluster.leader(unlike=leader.identity)
        creator.join(100.0)
        eventually(lambda: cluster.bound() == PODS, within=100.0)
        custody.heal(applied)
    eventually(lambda: not process(leader).alive, within=60.0)
    assert failures == []
    report = cluster.report()
    assert report["violations"] == []
    assert (report["pods"]["bound"], report["pods"]["lost"], report["pods"]["double_bound"]) == (PODS, 0, 0)
    assert Path(order).with_suffix(".reply").read_text(encoding="utf-8") == "refused"


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_leader_without_a_bind_to_send_is_not_stalled(cluster):
    custody = Custody(place(cluster), stop=NEVER, patience=1.0)
    leader = cluster.leader()
    with custody, pytest.raises(NotApplied, match="had no bind to send"):
        custody.apply(StallBeforeWrite(), [leader])
    assert not Path(environment(leader)[VARIABLE]).exists()
