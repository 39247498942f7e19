"""The steady state of a cluster: each thing that it lacks is told, and waited for."""

import threading
from types import SimpleNamespace

import pytest

from chaos.cluster.interface import Condition, Target
from chaos.errors import Interrupted
from chaos.runner import steady as module
from chaos.runner.steady import NotSteady, SteadyState
from lockd.errors import Unavailable
from tests.harness.hasty import HastyClock

PROBES = ("etcd-healthy", "leader", "replicas-ready", "daemons-serving", "workload-served")


class World:
    """A cluster, its etcd and its clients in one; all is well unless a test says otherwise."""

    def __init__(self):
        self.clock = HastyClock()
        self.members = [Target(f"etcd-{number}", f"etcd-{number}", 1, 1, f"127.0.0.1:{number}") for number in (1, 2, 3)]
        self.everybody = [Target(f"replica-{number}", "x", 1, 1, f"http://127.0.0.1:{number}") for number in (1, 2)]
        self.lockd = [Target("lockd-1", "lockd-1", 1, 1, "127.0.0.1:7")]
        self.leaders = {each.address: 5 for each in self.members}
        self.leads = self.everybody[0]
        self.silent = set()
        self.gone = set()
        self.alarms_of = []
        self.unserved = None

    def etcd_members(self):
        return self.members

    def replicas(self):
        return self.everybody

    def daemons(self):
        return self.lockd

    def leader(self):
        return self.leads

    def condition(self, target):
        return Condition.GONE if target.name in self.gone else Condition.RUNNING

    def status(self, address, *, timeout):
        if not address:
            raise AssertionError("nobody in particular is asked, and whoever answers is taken for the one meant")
        if address not in self.leaders:
            raise Unavailable("refused")
        return SimpleNamespace(errors=(), leader=self.leaders[address])

    def problem(self, _before):
        return self.unserved

    def state(self):
        return SteadyState(self, self, self, clock=self.clock)


@pytest.fixture
def world(monkeypatch):
    made = World()
    monkeypatch.setattr(module, "Maintenance", lambda _: SimpleNamespace(alarms=lambda timeout: made.alarms_of))
    monkeypatch.setattr(module, "status_of", lambda url, path: 503 if (url, path) in made.silent else 200)
    monkeypatch.setattr(module, "is_answered", lambda address: address not in made.silent)
    return made


def test_all_of_it_holds_at_once(world):
    assert world.state().wait(PROBES, within=10.0, stop=threading.Event()) == 0.0


@pytest.mark.parametrize(
    ("hurt", "told"),
    [
        (lambda world: world.leaders.pop("127.0.0.1:2"), "etcd-healthy: etcd-2: refused"),
        (
            lambda world: world.members.append(Target("etcd-4", "etcd-4", 0, 1, "")),
            "etcd-healthy: etcd-4: it is nowhere to be reached",
        ),
        (
            lambda world: world.leaders.update({"127.0.0.1:1": 4}),
            "etcd-healthy: the members don't agree on a leader",
        ),
        (lambda world: world.alarms_of.append(SimpleNamespace(kind="NOSPACE")), "etcd-healthy: alarms: NOSPACE"),
        (lambda world: setattr(world, "leads", None), "leader: nobody leads"),
        (
            lambda world: world.silent.add(("http://127.0.0.1:1", "/leader")),
            "leader: replica-1 holds the lease, and /leader says 503",
        ),
        (lambda world: world.silent.add(("http://127.0.0.1:2", "/readyz")), "replicas-ready: not ready: replica-2"),
        (lambda world: world.gone.add("replica-1"), "replicas-ready: not ready: replica-1"),
        (lambda world: world.silent.add("127.0.0.1:7"), "daemons-serving: not serving: lockd-1"),
        (lambda world: world.gone.add("lockd-1"), "daemons-serving: not serving: lockd-1"),
        (lambda world: setattr(world, "unserved", "2 wait"), "workload-served: 2 wait"),
    ],
)
def test_what_does_not_hold_is_told(world, hurt, told):
    hurt(world)
    assert world.state().problems(PROBES, 0.0) == (told,)
    with pytest.raises(NotSteady, match=r"^no steady state within 3 s: ") as raised:
        world.state().wait(PROBES, within=3.0, stop=threading.Event())
    assert raised.value.problems == (told,)


def test_only_what_is_asked_for_is_looked_at(world):
    world.leads = None
    assert world.state().problems(("etcd-healthy",), 0.0) == ()


def test_who_is_asked_to_stop_waits_no_longer(world):
    stop = threading.Event()
    stop.set()
    world.leads = None
    with pytest.raises(Interrupted):
        world.state().wait(PROBES, within=3.0, stop=stop)
