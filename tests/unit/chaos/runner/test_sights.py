import pytest

from chaos.runner.sights import Sights
from chaos.runner.signals import Signals
from lockd.etcd.model import WatchEvent
from lockd.record import LeaderRecord, TermValue
from tests.harness.history import pod

LOCK = "kube-system/kube-scheduler"


class Scene:
    def __init__(self):
        self.signals = Signals()
        self.sights = Sights(LOCK, self.signals)
        self.mark = self.signals.mark()
        self.versions = {}

    def put(self, key, value):
        version = self.versions[key] = self.versions.get(key, 0) + 1 if value is not None else 0
        self.sights.saw(key, WatchEvent(f"/lockd/{key}", value, 1, 1, version))

    def term(self, holder):
        self.put(f"leases/{LOCK}", LeaderRecord(holder_identity=holder, lease_duration=3.0).encode())
        self.put(f"terms/{LOCK}", TermValue(holder, "a").encode())

    def renew(self, holder):
        self.put(f"leases/{LOCK}", LeaderRecord(holder_identity=holder, lease_duration=3.0).encode())

    def count(self, event):
        return next(n for n in range(100) if not self.signals.due("after", event, n + 1, self.mark))

    def holds(self, condition):
        return self.signals.due("when", condition, 1, self.mark)


@pytest.fixture
def scene():
    return Scene()


def test_terms(scene):
    assert not scene.holds("leader")
    scene.term("A")
    assert (scene.sights.leader, scene.sights.old_leader) == ("A", "")
    assert (scene.holds("leader"), scene.holds("no-leader")) == (True, False)
    scene.term("")
    assert (scene.sights.leader, scene.count("leader-released")) == ("", 1)
    assert (scene.holds("leader"), scene.holds("no-leader")) == (False, True)
    scene.term("B")
    assert (scene.sights.leader, scene.sights.old_leader) == ("B", "A")
    assert (scene.count("leader-acquired"), scene.count("leader-released")) == (2, 1)


def test_a_renewal_is_no_acquire(scene):
    scene.term("A")
    assert scene.count("renewal") == 0
    scene.renew("A")
    scene.renew("stranger")
    scene.put(f"leases/{LOCK}", b"garbage")
    scene.put(f"leases/{LOCK}", None)
    assert (scene.count("renewal"), scene.count("leader-acquired")) == (1, 1)


def test_another_lock_is_none_of_ours(scene):
    scene.put("terms/other/lock", TermValue("X", "a").encode())
    assert scene.sights.leader == ""


def test_binds_in_flight(scene):
    scene.put("pods/chaos/p1", pod("p1"))
    scene.put("pods/chaos/p2", pod("p2"))
    assert (scene.count("pod-created"), scene.count("bind"), scene.holds("bind-in-flight")) == (2, 0, True)
    scene.put("pods/chaos/p1", pod("p1", refused="no node"))
    assert scene.holds("bind-in-flight")
    scene.put("pods/chaos/p1", pod("p1", node="n1"))
    scene.put("pods/chaos/p1", pod("p1", node="n1"))
    assert (scene.count("bind"), scene.holds("bind-in-flight")) == (1, True)
    scene.put("pods/chaos/p2", None)
    assert (scene.count("bind"), scene.holds("bind-in-flight")) == (1, False)
    scene.put("pods/chaos/p3", b"garbage")
    assert scene.holds("bind-in-flight")
