"""A fence lets no older token through once it has seen a newer one, wherever it keeps that."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lockd import shelves
from lockd.errors import Fenced, ForeignToken
from lockd.fencing import Fence, Newest
from lockd.shelves import FileShelf, MemoryShelf

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(params=["memory", "file"])
def fence(request, tmp_path):
    return Fence(MemoryShelf() if request.param == "memory" else FileShelf(tmp_path / "fence"))


def test_a_token_goes_through_until_a_newer_one_was_seen(fence):
    for token in (7, 7, 9):
        fence.check(token, cluster="c1")
    with pytest.raises(Fenced, match="token 7 is older than 9: another holds the lock") as refused:
        fence.check(7, cluster="c1")
    assert refused.value.token == 7
    fence.check(9, cluster="c1")


@pytest.mark.parametrize("token", [0, -1])
def test_what_is_no_token_does_not_go_through(fence, token):
    with pytest.raises(ValueError, match="revision above 0"):
        fence.check(token, cluster="c1")


@pytest.mark.parametrize("token", [1, 7, 9])
def test_a_token_of_another_cluster_waits_for_a_person(fence, token):
    fence.check(7, cluster="c1")
    for cluster in ("c2", ""):
        with pytest.raises(ForeignToken, match=r"of etcd cluster .*, and those seen so far are of c1") as refused:
            fence.check(token, cluster=cluster)
        assert refused.value.cluster == cluster
    fence.reset()
    fence.check(token, cluster="c2")
    with pytest.raises(ForeignToken):
        fence.check(7, cluster="c1")


def test_a_file_outlives_its_process(tmp_path):
    Fence(FileShelf(tmp_path / "fence")).check(9, cluster="c1")
    with pytest.raises(Fenced):
        Fence(FileShelf(tmp_path / "fence")).check(7, cluster="c1")


def test_what_cannot_be_kept_lets_nobody_through(tmp_path, monkeypatch):
    fence = Fence(FileShelf(tmp_path / "fence"))
    fence.check(7, cluster="c1")

    def full(_):
        raise OSError("no space")

    monkeypatch.setattr(shelves.os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        fence.check(9, cluster="c1")
    monkeypatch.undo()
    fence.check(8, cluster="c1")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fence", "fence.lock"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        Fence(FileShelf(tmp_path / "no" / "fence")).check(7)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"7", b'{"cluster": "c1"}', b'{"cluster": "c1", "token": 0}', b'{"cluster": 1, "token": 7}']
)
def test_a_file_of_something_else_is_left_alone(tmp_path, content):
    path = tmp_path / "fence"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a fence's file"):
        Fence(FileShelf(path)).check(9, cluster="c1")
    assert path.read_bytes() == content


def test_it_is_on_disk_before_anybody_is_let_through(tmp_path, monkeypatch):
    """First the content, then the name, then the folder that holds the name."""
    steps = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)

        def step(*args, name=name, real=real, **how):
            target = Path(f"/proc/self/fd/{args[0]}").readlink() if name == "fsync" else Path(args[1])
            steps.append((name, target.name))
            return real(*args, **how)

        monkeypatch.setattr(os, name, step)
    Fence(FileShelf(tmp_path / "fence")).check(7)
    assert steps == [("fsync", "fence.draft"), ("replace", "fence"), ("fsync", tmp_path.name)]


def test_threads_see_tokens_grow(fence):
    """Whoever was let through, was not older than anybody let through before."""
    passed, lock = [], threading.Lock()

    class Watched:
        def update(self, change):
            def seen(newest):
                after = change(newest)
                passed.append(after)
                return after

            fence._shelf.update(seen)

    watched = Fence(Watched())

    def act(start):
        for token in range(start, start + 60, 2):
            try:
                watched.check(token)
            except Fenced:
                with lock:
                    continue

    threads = [threading.Thread(target=act, args=(start,)) for start in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30.0)
    tokens = [newest.token for newest in passed]
    assert tokens == sorted(tokens)
    assert passed[-1] == Newest("", tokens[-1])


PROCESS = """
import sys
from pathlib import Path
from lockd.errors import Fenced
from lockd.fencing import Fence
from lockd.shelves import FileShelf
path = Path(sys.argv[1])
shelf, log = FileShelf(path), path.with_name("log").open("ab", buffering=0)
class Watched:
    def update(self, change):
        def seen(newest):
            after = change(newest)
            log.write(b"%d\\n" % after.token)
            return after
        shelf.update(seen)
for token in range(int(sys.argv[2]), 90, 3):
    try:
        Fence(Watched()).check(token)
    except Fenced:
        continue
"""


def test_processes_see_tokens_grow(tmp_path):
    path = tmp_path / "fence"
    running = [subprocess.Popen([sys.executable, "-c", PROCESS, str(path), str(n)], cwd=ROOT) for n in (1, 2, 3)]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    passed = [int(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert passed == sorted(passed)
    with pytest.raises(Fenced):
        Fence(FileShelf(path)).check(passed[-1] - 1)
