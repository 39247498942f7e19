"""Who gets which cluster, and when clusters end."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from chaos.errors import Interrupted, NoCluster, TooSlow
from chaos.pytest import pool as module
from chaos.pytest.pool import Pool
from chaos.pytest.settings import Shape

THREE, FIVE = Shape(), Shape(replicas=5)


class World:
    def __init__(self):
        self.told = []
        self.broken = None
        self.unwell = []

    @contextmanager
    def raised(self, _backend, shape, folder, *, stop, clock):
        if self.broken is not None:
            raise self.broken
        self.told.append(f"up {shape.replicas} in {folder}")
        try:
            yield SimpleNamespace(shape=shape, folder=folder, verify=self.verify)
        finally:
            self.told.append(f"down {folder}")

    def verify(self, stop):
        if self.unwell:
            raise self.unwell.pop(0)


@pytest.fixture
def world(monkeypatch):
    made = World()
    monkeypatch.setattr(module, "raised", made.raised)
    return made


@pytest.fixture
def pool(world):
    return Pool(None, iter("abcdef").__next__)


def test_tests_of_one_shape_share_a_cluster(pool, world):
    assert pool.shared(THREE) is pool.shared(Shape())
    assert pool.shared(FIVE) is not pool.shared(THREE)
    pool.close()
    assert world.told == ["up 3 in a", "up 5 in b", "down b", "down a"]


def test_a_fresh_one_ends_with_its_block(pool, world):
    shared = pool.shared(THREE)
    with pool.fresh(THREE) as fresh:
        assert fresh is not shared
    assert pool.shared(THREE) is shared
    assert world.told == ["up 3 in a", "up 3 in b", "down b"]


def test_one_that_is_discarded_is_followed_by_another(pool, world):
    first = pool.shared(THREE)
    pool.discard(first)
    pool.discard(first)
    assert pool.shared(THREE) is not first
    pool.discard(first)
    assert world.told == ["up 3 in a", "down a", "up 3 in b"]


def test_one_that_is_not_well_any_more_is_followed_by_another(pool, world):
    first = pool.shared(THREE)
    world.unwell.append(NoCluster("it has ended"))
    assert pool.shared(THREE) is not first
    assert world.told == ["up 3 in a", "down a", "up 3 in b"]


def test_one_that_did_not_come_up_is_not_tried_again(pool, world):
    world.broken = TooSlow("not healthy")
    for _ in range(2):
        with pytest.raises(TooSlow, match="not healthy"):
            pool.shared(THREE)
    world.broken = None
    with pytest.raises(TooSlow):
        pool.shared(THREE)
    assert pool.shared(FIVE).shape == FIVE


def test_the_end_of_the_session_is_no_fault_of_a_cluster(pool, world):
    first = pool.shared(THREE)
    world.unwell.append(Interrupted("stopped by a signal"))
    with pytest.raises(Interrupted):
        pool.shared(THREE)
    assert pool.shared(THREE) is first


def test_all_end_even_if_one_can_not(pool, world, monkeypatch):
    pool.shared(THREE)

    @contextmanager
    def stuck(*_, **__):
        yield SimpleNamespace(shape=FIVE, verify=world.verify)
        raise TooSlow("it does not end")

    monkeypatch.setattr(module, "raised", stuck)
    pool.shared(FIVE)
    with pytest.raises(TooSlow):
        pool.close()
    assert pool.stop.is_set()
    assert world.told == ["up 3 in a", "down a"]
