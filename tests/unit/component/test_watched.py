from __future__ import annotations

import os

import pytest

from component.watched import EVERY, Watched
from tests.harness.clock import ManualClock


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "number"
    path.write_text("1")
    return path


def load_of(path):
    def load():
        try:
            return int(path.read_text())
        except OSError as error:
            raise ValueError("gone") from error

    return load


def test_a_file_is_read_again_once_it_has_changed(file):
    clock = ManualClock()
    watched = Watched([file], load_of(file), clock=clock)
    assert watched.value == 1
    file.write_text("23")
    assert watched.value == 1
    clock.advance(EVERY)
    assert watched.value == 23


def test_what_has_not_changed_is_not_read_again(file):
    clock, reads = ManualClock(), []
    watched = Watched([file], lambda: reads.append(1), clock=clock)
    clock.advance(EVERY)
    assert watched.value is None
    assert len(reads) == 1


@pytest.mark.parametrize("bad", ["x", None])
def test_what_cannot_be_read_leaves_the_last_in_force_and_is_tried_again(file, bad):
    clock = ManualClock()
    watched = Watched([file], load_of(file), clock=clock)
    if bad is None:
        file.unlink()
    else:
        file.write_text(bad)
    clock.advance(EVERY)
    assert watched.value == 1
    file.write_text("45")
    clock.advance(EVERY)
    assert watched.value == 45


def test_a_link_turned_to_another_file_counts_as_a_change(tmp_path):
    clock, link = ManualClock(), tmp_path / "link"
    for name in ("1", "2"):
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, (5, 5))
    link.symlink_to(tmp_path / "1")
    watched = Watched([link], load_of(link), clock=clock)
    link.unlink()
    link.symlink_to(tmp_path / "2")
    clock.advance(EVERY)
    assert watched.value == 2


def test_a_first_reading_that_fails_is_the_callers(tmp_path):
    with pytest.raises(ValueError, match="gone"):
        Watched([tmp_path / "absent"], load_of(tmp_path / "absent"), clock=ManualClock())
