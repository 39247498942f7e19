"""When replicas are started again: their processes are pretended, and so is time."""

import errno
from types import SimpleNamespace

import pytest

from chaos.cluster import keeper as module
from chaos.cluster.keeper import RESTART_DELAY
from chaos.cluster.plan import Plan
from chaos.cluster.replicas import Replicas
from chaos.cluster.ways import Direct
from chaos.errors import LinksGone, NotStarted
from component.process import Process
from lockd.errors import ConfigError
from tests.harness.clock import ManualClock


class FakeChild:
    """A process that ends when a test says so."""

    started: list = []  # noqa: RUF012 - emptied by the fixture

    def __init__(self, command, *, log, environment):
        self.command = command
        self.process = Process(4_000_000 + len(self.started), 1)
        self.pid = self.process.pid
        self.exit_code = self.ending = None
        self.killed = False
        log.touch()
        self.started.append(self)

    def is_over(self, seconds, *, clock):
        """The last threads of one that is `ending` take a moment of that patience."""
        if self.ending is not None:
            clock.advance(seconds / 2)
            self.exit_code = self.ending
        return self.exit_code is not None

    def kill(self):
        self.killed = True


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "Child", FakeChild)
    monkeypatch.setattr(FakeChild, "started", [])

    def make(**plan):
        plan = Plan(folder=tmp_path, replicas=2, **plan)
        plan.logs.mkdir()
        clock, told = ManualClock(), []
        replicas = Replicas(plan, Direct(("127.0.0.1:1",)), clock=clock, tell=told.append)
        replicas.start(plan.names())
        return SimpleNamespace(replicas=replicas, clock=clock, told=told, children=FakeChild.started)

    return make


def test_each_replica_has_a_name_an_identity_and_a_port(world):
    one, two = world().replicas.state()
    assert (one.name, two.name) == ("replica-1", "replica-2")
    assert one.identity != two.identity
    assert one.http != two.http
    assert (one.restarts, one.pid, one.started) == (0, 4_000_000, 1)


@pytest.mark.parametrize("code", [0, 1, -9])
def test_whoever_ends_comes_back_after_a_second_as_another(world, code):
    world = world()
    before = world.replicas.state()
    world.children[0].exit_code = code
    world.replicas.step()
    assert world.replicas.state() == before
    world.clock.advance(RESTART_DELAY - 0.01)
    world.replicas.step()
    assert len(world.children) == 2
    world.clock.advance(0.01)
    world.replicas.step()
    after = world.replicas.state()
    assert after[1] == before[1]
    assert (after[0].name, after[0].restarts, after[0].pid) == ("replica-1", 1, 4_000_002)
    assert after[0].identity != before[0].identity
    assert after[0].trace != before[0].trace
    assert f"--identity={after[0].identity}" in world.children[2].command


def test_it_comes_back_each_time(world):
    world = world()
    for number in range(1, 4):
        world.children[-1 if number > 1 else 0].exit_code = 1
        world.replicas.step()
        world.clock.advance(RESTART_DELAY)
        world.replicas.step()
        assert world.replicas.state()[0].restarts == number


def test_without_restarts_it_stays_away(world):
    world = world(restart=False)
    world.children[0].exit_code = 0
    for _ in range(3):
        world.replicas.step()
        world.clock.advance(10 * RESTART_DELAY)
    assert len(world.children) == 2
    assert [line.partition(";")[0] for line in world.told] == ["replica-1 ended with code 0"]


def test_flags_that_are_refused_are_not_tried_again(world, tmp_path):
    world = world()
    (tmp_path / "log" / "replica-2.log").write_text("error: No such option: --fats\n")
    world.children[1].exit_code = 2
    with pytest.raises(ConfigError, match="replica-2 refuses its flags: No such option: --fats"):
        world.replicas.step()


def test_one_that_cannot_be_started_is_tried_again(world, monkeypatch):
    world = world()
    world.children[0].exit_code = 1
    world.replicas.step()

    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(module, "Child", refuse)
        world.clock.advance(RESTART_DELAY)
        world.replicas.step()
        world.replicas.step()
    assert [line for line in world.told if "can't be started" in line] == [
        "replica-1 can't be started: No space left on device: tried again"
    ]
    world.clock.advance(RESTART_DELAY)
    world.replicas.step()
    assert len(world.children) == 3


def test_who_is_asked_for_starts_at_once_even_where_nobody_is_started_again(world):
    world = world(restart=False)
    running = world.replicas.again("replica-1")
    assert (running, len(world.children)) == (world.children[0].process, 2)
    world.children[0].exit_code = -9
    assert world.replicas.again("replica-1") == world.children[2].process
    assert world.replicas.state()[0].restarts == 1
    assert world.replicas.again("replica-9") is None


def test_who_has_just_ended_is_not_taken_for_a_running_one(world):
    world = world()
    world.children[0].ending = -9
    assert world.replicas.again("replica-1") == world.children[2].process
    assert world.told[0].startswith("replica-1 was ended by signal 9")


def test_who_is_asked_for_and_cannot_be_started_is_said_so(world, monkeypatch):
    world = world(restart=False)
    world.children[0].exit_code = -9

    def refuse(*_, **__):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(module, "Child", refuse)
    with pytest.raises(NotStarted, match="replica-1 can't be started"):
        world.replicas.again("replica-1")


def test_nobody_lives_on_whose_place_could_not_be_told(world, monkeypatch):
    def gone(*_):
        raise LinksGone("the proxy ended")

    monkeypatch.setattr(Direct, "moved", gone)
    with pytest.raises(LinksGone):
        world()
    assert [child.killed for child in FakeChild.started] == [True]
