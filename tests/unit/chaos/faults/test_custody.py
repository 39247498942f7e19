"""Custody heals whatever is in force, however its block ends."""

import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from chaos.cluster.interface import Target
from chaos.faults.custody import Custody
from chaos.faults.effect import Effect, Moment
from chaos.faults.errors import NotApplied, NotAvailable, NotHealed
from chaos.faults.fault import Kind
from chaos.faults.guard import GuardProcess
from chaos.faults.place import Place
from chaos.spans import read_folder
from component.process import Gone
from lockd.ports import KeyValue, LockName

LOCK = LockName("/lockd", "kube-system", "kube-scheduler")


@dataclass
class Store:
    """A gateway that knows whether faults are allowed."""

    keys: tuple[str, ...] = ("/lockd/chaos-allowed",)

    def range(self, key, *, timeout):
        assert timeout > 0
        return SimpleNamespace(kvs=(KeyValue(key, b"{}", 1),) if key in self.keys else ())


@dataclass
class Noted:
    """A fault that notes what becomes of it."""

    name: str
    done: list[str]
    stubborn: list[str] = field(default_factory=list)

    def apply(self, _scene, _targets):
        self.done.append(f"apply {self.name}")
        return Effect(Moment(1.0, 2.0), f"{self.name} took effect", self.undo)

    def undo(self):
        if self.stubborn:
            raise NotHealed(self.stubborn.pop())
        self.done.append(f"heal {self.name}")
        return f"{self.name} is undone"


@pytest.fixture(autouse=True)
def no_guard(monkeypatch):
    """None of these faults needs one."""
    monkeypatch.setattr(GuardProcess, "start", lambda _: None)


@pytest.fixture
def done():
    return []


@pytest.fixture
def told():
    return []


@pytest.fixture
def custody(told):
    return Custody(place(), stop=threading.Event(), tell=told.append)


def place(store=None, *, cluster=None, folder=Path("/nowhere"), marked=True):
    cluster, store = cluster or SimpleNamespace(), store or Store()
    return Place(cluster=cluster, gateway=store, lock=LOCK, remedies=None, folder=folder, marked=marked)


def hold(custody, *faults, error=None):
    """Apply faults in a block of custody, which ends with an error if there is one."""
    with custody:
        for fault in faults:
            custody.apply(fault)
        if error is not None:
            raise error


def test_all_is_healed_at_the_end_newest_first(custody, done):
    with custody:
        custody.apply(Noted("one", done))
        custody.apply(Noted("two", done))
    assert done == ["apply one", "apply two", "heal two", "heal one"]


def test_all_is_healed_when_the_block_raises(custody, done):
    with pytest.raises(KeyboardInterrupt):
        hold(custody, Noted("one", done), error=KeyboardInterrupt())
    assert done == ["apply one", "heal one"]


def test_what_was_healed_is_not_healed_again(custody, done):
    with custody:
        applied = custody.apply(Noted("one", done))
        assert custody.heal(applied) == "one is undone"
        assert applied.heal() == "one is undone"
    assert done == ["apply one", "heal one"]


def test_what_can_not_be_healed_keeps_no_other_from_it_and_is_raised(custody, done, told):
    with pytest.raises(NotHealed, match=r"^it stays$"):
        hold(custody, Noted("one", done), Noted("two", done, ["it stays", "not yet"]))
    assert done == ["apply one", "apply two", "heal one"]
    assert told == ["it stays"]


def test_what_can_not_be_healed_hides_no_error(custody, done, told):
    with pytest.raises(NotApplied, match="another"):
        hold(custody, Noted("one", done, ["it stays"]), error=NotApplied("another"))
    assert told == ["it stays"]


def test_what_could_not_be_healed_is_tried_again_at_the_end(custody, done):
    with custody:
        applied = custody.apply(Noted("one", done, ["not yet"]))
        with pytest.raises(NotHealed):
            custody.heal(applied)
    assert done == ["apply one", "heal one"]


def test_a_cluster_that_was_not_made_to_be_hurt_is_refused():
    strange = Custody(place(Store(())), stop=threading.Event())
    with pytest.raises(NotAvailable, match="/lockd/chaos-allowed is not there"), strange:
        pass


def test_what_waited_for_the_others_is_tried_again_once_they_are_healed(custody, done):
    with custody:
        custody.apply(Noted("one", done))
        custody.apply(Noted("two", done, ["one holds it back"]))
    assert done[2:] == ["heal one", "heal two"]


def test_what_was_done_is_told_in_the_cluster_s_traces(tmp_path, done):
    (tmp_path / "trace").mkdir()
    targets = [Target(f"replica-{number}", identity, number, 1, "") for number, identity in enumerate("AB", 1)]
    with Custody(place(folder=tmp_path), stop=threading.Event()) as custody:
        custody.apply(Noted("one", done), targets)
        custody.apply(Noted("two", done))
    found = read_folder(tmp_path / "trace")
    assert {(span.name, span.instance, span.start) for span in found} == {("chaos.fault", "chaosctl", 2.0)}
    assert [(span.attributes["fault"], span.attributes["target"]) for span in found] == [
        ("one", "A"),
        ("one", "B"),
        ("two", "cluster"),
    ]
    assert all(span.end > span.start for span in found)


@pytest.mark.parametrize(
    ("aims", "target", "refused"),
    [
        ({Kind.REPLICA, Kind.ETCD}, "replica-1", False),
        ({Kind.REPLICA, Kind.ETCD}, "etcd-1", True),
        (set(), None, True),
    ],
    ids=["a replica", "a member", "all of it"],
)
def test_of_a_project_that_is_not_ours_only_etcd_asks_for_its_owner_s_word(done, aims, target, refused):
    cluster = SimpleNamespace(etcd_members=lambda: [Target("etcd-1", "etcd-1", 1, 1, "")])
    own = Custody(place(Store(()), cluster=cluster, folder=None, marked=False), stop=threading.Event())
    fault = Noted("one", done)
    fault.aims = aims
    targets = [Target(target, target, 1, 1, "")] if target else []
    with own:
        if refused:
            with pytest.raises(NotAvailable, match="etcdctl put /lockd/chaos-allowed yes"):
                own.apply(fault, targets)
        else:
            own.apply(fault, targets)
    assert done == ([] if refused else ["apply one", "heal one"])


def test_what_ended_before_is_no_fault_and_no_traceback(custody, done):
    """As a container that somebody removed meanwhile."""

    def gone(*_):
        raise Gone("container 1234 is not there any more")

    fault = SimpleNamespace(name="pause", aims=frozenset(), apply=gone)
    with pytest.raises(NotApplied, match=r"^pause: container 1234 is not there any more$"), custody:
        custody.apply(fault)
