"""A cluster that a run makes of containers: what becomes of it when it does not come up, or is not wanted any more."""

import threading

import pytest

from chaos.backend import compose
from chaos.backend.compose import ComposeBackend
from chaos.cluster.health import Health
from chaos.cluster.plan import Plan
from chaos.errors import Interrupted, NotStarted, TooSlow
from tests.harness.containers import FakeEngine, container
from tests.harness.hasty import HastyClock


class World:
    """What was done, in order; containers come by `up`."""

    def __init__(self):
        self.told = []
        self.engine = FakeEngine()
        self.ready = True
        self.refused = None
        self.come = {}

    def bringing(self, project, *, clock):
        self.name = project.name
        return self

    def up(self, stop):
        self.told.append("up")
        self.engine.add(container("replica-1", "replica", project=self.name, **self.come))
        self.engine.add(container("etcd-1", "etcd", project=self.name, ports={2379: "127.0.0.1:1"}))
        if self.refused is not None:
            raise self.refused

    def down(self):
        self.told.append("down")
        self.engine.remove(self.name)

    def guard(self):
        return self

    def promise(self, remedy):
        self.told.append(f"promise {type(remedy).__name__}")
        return self

    def release(self):
        self.told.append("release" if not self.engine.containers(self.name) else "release too early")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.fixture
def world(monkeypatch):
    made = World()
    monkeypatch.setattr(compose, "Bringing", made.bringing)
    monkeypatch.setattr(compose, "GuardProcess", made.guard)
    monkeypatch.setattr(compose, "ask", lambda _: Health(1, 1, "replica-1" if made.ready else ""))
    return made


@pytest.fixture
def stand(world, tmp_path):
    def standing(stop=None):
        plan = Plan(folder=tmp_path, members=1, replicas=1)
        return ComposeBackend(world.engine).standing(
            plan, clock=HastyClock(), stop=stop or threading.Event(), progress=lambda _: None
        )

    return standing


def test_it_is_taken_down_at_the_end_and_nobody_is_asked_to_do_it_any_more(world, stand):
    with stand() as standing:
        assert standing.connection.endpoints == ("127.0.0.1:1",)
    assert world.told == ["promise Remove", "up", "down", "release"]


def test_what_containers_say_is_there_when_they_do_not_come_up(world, stand, tmp_path):
    world.ready = False
    with pytest.raises(TooSlow, match=rf"^not healthy within .*; what they say is in {tmp_path}/log$"), stand():
        pass
    assert sorted(path.name for path in (tmp_path / "log").iterdir()) == ["etcd-1.log", "replica-1.log"]
    assert world.told == ["promise Remove", "up", "down", "release"]


def test_one_that_ends_again_and_again_is_told_with_its_last_words(world, stand):
    world.ready = False
    world.come = {"running": False, "tries": 3, "exit_code": 2, "image": "wrong"}
    with (
        pytest.raises(NotStarted, match=r"^replica-1 of wrong ended with code 2: lockd-chaos-\w+-replica-1-1: if"),
        stand(),
    ):
        pass
    assert world.told[-1] == "release"


def test_an_error_within_it_has_what_containers_say(world, stand, tmp_path):
    with pytest.raises(ValueError, match="mine"), stand():
        raise ValueError("mine")
    assert (tmp_path / "log" / "replica-1.log").exists()
    assert world.told == ["promise Remove", "up", "down", "release"]


def test_one_that_is_interrupted_leaves_nothing(world, stand, tmp_path):
    stop = threading.Event()
    stop.set()
    world.ready = False
    with pytest.raises(Interrupted), stand(stop):
        pass
    assert list((tmp_path / "log").iterdir()) == []
    assert world.told == ["promise Remove", "up", "down", "release"]


def test_what_compose_can_not_take_down_is_removed_all_the_same(world, stand, monkeypatch):
    monkeypatch.setattr(World, "down", lambda _: (_ for _ in ()).throw(NotStarted(("compose down failed",), 1)))
    world.refused = NotStarted(("port 1 is taken",), 1)
    with pytest.raises(NotStarted, match="port 1 is taken"), stand():
        pass
    assert world.engine.containers(world.name) == ()
    assert world.told == ["promise Remove", "up", "release"]
