"""What a supervisor leaves when something fails: etcd and the replicas are pretended."""

import errno
import threading
from types import SimpleNamespace

import pytest

from chaos.cluster import crew
from chaos.cluster import state as files
from chaos.cluster import supervisor as module
from chaos.cluster.board import RETRY
from chaos.cluster.plan import Plan
from chaos.cluster.supervisor import STEP, supervise
from lockd.etcd.embedded import EmbeddedError
from tests.harness.clock import ManualClock
from tests.harness.cluster import STATE


class FakeEtcd:
    """One member, whose data is a folder."""

    endpoints = ("127.0.0.1:1",)
    connection = None

    def __init__(self, folder):
        (folder / "etcd-1").mkdir(parents=True)
        self.member = SimpleNamespace(
            name="etcd-1",
            endpoint="127.0.0.1:1",
            pid=11,
            started=1,
            data_dir=folder / "etcd-1",
            log=folder / "etcd-1.log",
            alive=True,
            child=SimpleNamespace(exit_code=None),
            kill=lambda: None,
        )
        self.members = (self.member,)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


class World:
    """A script: what happens at which step of the replicas."""

    def __init__(self, folder, monkeypatch):
        self.plan = Plan(folder=folder, members=1, replicas=1)
        self.clock, self.told, self.steps, self.led = ManualClock(), [], [], True
        self.stop = threading.Event()
        self.replicas = list(STATE.replicas)
        world = self

        class FakeReplicas:
            ends = ()

            def __init__(self, *_, **__):
                pass

            def start(self, names):
                pass

            def stop(self):
                pass

            def processes(self):
                return []

            def state(self):
                return tuple(world.replicas)

            def step(self):
                world.clock.advance(STEP)
                world.steps.pop(0)() if world.steps else world.stop.set()

        def start(*, directory, **_):
            self.etcd = FakeEtcd(directory)
            return self.etcd

        monkeypatch.setattr(crew, "Replicas", FakeReplicas)
        monkeypatch.setattr(module.Embedded, "start", start)
        monkeypatch.setattr(module, "_allow_chaos", lambda *_: None)
        monkeypatch.setattr(module, "_has_led", lambda *_: self.led, raising=False)
        self.clock.wait = lambda stop, _: stop.is_set()

    def run(self, tell=None):
        supervise(self.plan, self.stop, clock=self.clock, tell=tell or self.told.append)

    def data(self):
        return (self.plan.etcd_folder / "etcd-1").exists()


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path / "cluster", monkeypatch)


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_an_orderly_end_leaves_no_data(world):
    world.run()
    assert sorted(path.name for path in world.plan.folder.iterdir()) == ["log", "trace"]


def test_a_full_disk_is_told_once_and_the_file_follows_when_there_is_room(world, monkeypatch):
    write, seen = files.write, []

    def change():
        world.replicas.pop()
        monkeypatch.setattr(files, "write", full)

    def room():
        monkeypatch.setattr(files, "write", write)
        world.clock.advance(RETRY)

    world.steps = [change, lambda: None, room, lambda: seen.append(files.read(world.plan.folder).replicas)]
    world.run()
    assert seen == [()]
    assert len([line for line in world.told if "No space left on device" in line]) == 1


def test_a_log_that_takes_no_line_ends_nothing(world):
    seen = []
    world.steps = [lambda: seen.append(world.data())]
    world.run(tell=full)
    assert seen == [True]


def test_an_error_leaves_the_data_of_a_cluster_that_was_healthy(world):
    world.steps = [full]
    with pytest.raises(OSError, match="No space left"):
        world.run()
    assert world.data()
    assert (world.plan.folder / "cluster.json").exists()
    assert any("chaosctl down --dir" in line for line in world.told)


def test_an_error_of_a_start_that_never_became_healthy_leaves_none(world):
    world.led = False
    world.steps = [full]
    with pytest.raises(OSError, match="No space left"):
        world.run()
    assert sorted(path.name for path in world.plan.folder.iterdir()) == ["log", "trace"]


def test_the_end_of_a_member_is_told_once(world):
    def end():
        world.etcd.member.alive = False
        world.etcd.member.child.exit_code = -9

    world.steps = [end, lambda: None, lambda: None]
    world.run()
    (line,) = (line for line in world.told if line.startswith("etcd-1"))
    assert line.startswith("etcd-1 was ended by signal 9; it is not started again")


def test_logs_and_traces_of_an_earlier_cluster_are_put_aside(world):
    for name in ("log/replica-1.log", "log/supervisor.log", "trace/replica-1.0.jsonl"):
        path = world.plan.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old")
    world.run()
    folder = world.plan.folder
    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert left == ["earlier/1/log/replica-1.log", "earlier/1/trace/replica-1.0.jsonl", "log/supervisor.log"]


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (
            '{"level":"fatal","msg":"limit is too low","limit":64,"stacktrace":"main"}\n\n\n',
            "limit is too low limit=64",
        ),
        ("first\nlast words\n\n", "last words"),
        ("\n", "it said nothing"),
        ("x" * 5000, "..."),
    ],
)
def test_etcds_last_words_are_one_short_line(world, monkeypatch, log, said):
    def start(*, directory, **_):
        directory.mkdir()
        (directory / "etcd-2.log").write_text(log)
        raise EmbeddedError("etcd member etcd-2 ended with code 1; its log ends:\n")

    monkeypatch.setattr(module.Embedded, "start", start)
    with pytest.raises(EmbeddedError) as ended:
        world.run()
    line = str(ended.value)
    assert line.startswith("etcd member etcd-2 ended with code 1; its log ends: ")
    assert line.endswith(said)
    assert "\n" not in line
    assert len(line) <= 300
    assert not world.plan.etcd_folder.exists()
