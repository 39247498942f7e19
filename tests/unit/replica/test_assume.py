from __future__ import annotations

import random

import numpy as np
import pytest

from replica.assume import AssumedPods
from replica.cache.node_table import NodeTable
from replica.cache.nodes import CPU, PODS
from tests.harness.objects import node, pod


class Books:
    """A table with two nodes and the assumed pods over it."""

    def __init__(self):
        self.table = NodeTable()
        for name in ("a", "b"):
            self.table.set_node(node(name))
        self.assumed = AssumedPods(self.table)

    def cores(self, name):
        view = self.table.snapshot()
        return int(view.requested[CPU, view.index[name]]) // 1000

    @property
    def pods(self):
        return int(self.table.snapshot().requested[PODS].sum())


@pytest.fixture
def books():
    return Books()


ONE = pod("one", requests={"cpu": "1"}, uid="u1")


def test_an_assumed_pod_counts_at_once(books):
    assert books.assumed.assume(ONE, "a")
    assert books.cores("a") == 1
    assert "u1" in books.assumed
    assert books.assumed.counts() == (0, 1)


def test_a_pod_is_assumed_once(books):
    books.assumed.assume(ONE, "a")
    assert not books.assumed.assume(ONE, "b")
    assert (books.cores("a"), books.cores("b")) == (1, 0)
    books.assumed.observe(ONE.on("a"))
    assert not books.assumed.assume(ONE, "b")


def test_nothing_is_assumed_on_a_node_that_is_gone(books):
    books.table.remove_node("a")
    assert not books.assumed.assume(ONE, "a")
    assert "u1" not in books.assumed
    books.table.set_node(node("a"))
    assert books.pods == 0


def test_the_watch_confirms_it(books):
    books.assumed.assume(ONE, "a")
    books.assumed.observe(ONE.on("a"))
    assert books.cores("a") == 1
    assert books.assumed.counts() == (1, 0)


def test_what_comes_after_the_watch_has_confirmed_changes_nothing(books):
    books.assumed.assume(ONE, "a")
    books.assumed.observe(ONE.on("a"))
    assert not books.assumed.forget("u1")
    books.assumed.settle("u1", 5)
    assert books.assumed.advance(9) == ()
    assert books.cores("a") == 1


def test_the_watch_knows_better_where_it_is(books):
    books.assumed.assume(ONE, "a")
    books.assumed.observe(ONE.on("b"))
    assert (books.cores("a"), books.cores("b")) == (0, 1)


def test_a_bind_that_was_not_made_is_forgotten(books):
    books.assumed.assume(ONE, "a")
    assert books.assumed.forget("u1")
    assert books.pods == 0
    assert not books.assumed.forget("u1")
    assert books.assumed.assume(ONE, "b")


def test_p6_a_refused_bind_counts_until_the_cache_has_passed_the_reply(books):
    books.assumed.assume(ONE, "a")
    books.assumed.settle("u1", 50)
    assert books.assumed.advance(49) == ()
    assert books.cores("a") == 1
    assert books.assumed.advance(50) == ("u1",)
    assert books.pods == 0


def test_p6_the_watch_may_show_that_it_was_made_after_all(books):
    books.assumed.assume(ONE, "a")
    books.assumed.settle("u1", 50)
    books.assumed.observe(ONE.on("a"))
    assert books.assumed.advance(60) == ()
    assert books.cores("a") == 1


def test_a_pod_deleted_while_assumed_leaves_nothing(books):
    books.assumed.assume(ONE, "a")
    books.assumed.remove("u1")
    assert books.pods == 0
    assert not books.assumed.forget("u1")
    books.assumed.settle("u1", 5)
    assert books.assumed.advance(9) == ()


def test_a_pod_created_anew_under_its_name_is_another(books):
    books.assumed.assume(ONE, "a")
    again = pod("one", requests={"cpu": "2"}, uid="u2")
    assert books.assumed.assume(again, "a")
    assert books.cores("a") == 3
    books.assumed.remove("u1")
    assert books.cores("a") == 2


def test_a_node_deleted_under_an_assumed_pod_and_back_counts_it(books):
    books.assumed.assume(ONE, "a")
    books.table.remove_node("a")
    books.table.set_node(node("a"))
    assert books.cores("a") == 1
    books.table.remove_node("a")
    books.assumed.forget("u1")
    books.table.set_node(node("a"))
    assert books.cores("a") == 0


def test_a_bound_pod_that_changes_is_counted_as_it_is(books):
    books.assumed.observe(ONE.on("a"))
    books.assumed.observe(pod("one", requests={"cpu": "3"}, uid="u1", node="a"))
    assert books.cores("a") == 3
    books.assumed.remove("u1")
    assert books.pods == 0


def test_a_new_term_lets_go_of_what_an_earlier_one_assumed(books):
    books.assumed.assume(ONE, "a")
    books.assumed.observe(pod("two", requests={"cpu": "1"}, uid="u2", node="b"))
    assert books.assumed.clear() == 1
    assert (books.cores("a"), books.cores("b")) == (0, 1)


class Recount:
    """The plainest books: for each pod where the watch has it, and where it is assumed."""

    def __init__(self, draw):
        self.draw = draw
        self.table = NodeTable()
        self.assumed = AssumedPods(self.table)
        self.nodes = {}
        self.bound = {}
        self.held = {}
        self.settled = {}
        self.applied = 0
        self.uids = [f"u{number}" for number in range(8)]
        self.pods = {uid: pod(uid, requests={"cpu": str(draw.randrange(1, 4))}, uid=uid) for uid in self.uids}
        for name in "abc":
            self.add_node(name)

    def add_node(self, name):
        self.nodes[name] = node(name)
        self.table.set_node(self.nodes[name])

    def drop_node(self, name):
        self.nodes.pop(name, None)
        self.table.remove_node(name)

    def assume(self, uid, name):
        free = uid not in self.held and uid not in self.bound and name in self.nodes
        assert self.assumed.assume(self.pods[uid], name) == free
        if free:
            self.held[uid] = name

    def observe(self, uid, name):
        self.assumed.observe(self.pods[uid].on(name))
        self.let_go(uid)
        self.bound[uid] = name

    def remove(self, uid, _name):
        self.assumed.remove(uid)
        self.let_go(uid)
        self.bound.pop(uid, None)

    def forget(self, uid, _name):
        assert self.assumed.forget(uid) == (uid in self.held)
        self.let_go(uid)

    def settle(self, uid, _name):
        revision = self.applied + self.draw.randrange(1, 5)
        self.assumed.settle(uid, revision)
        if uid in self.held:
            self.settled.setdefault(uid, revision)

    def advance(self, _uid, _name):
        self.applied += self.draw.randrange(1, 4)
        due = {uid for uid, revision in self.settled.items() if revision <= self.applied}
        assert set(self.assumed.advance(self.applied)) == due
        for uid in due:
            self.let_go(uid)

    def node(self, _uid, name):
        self.draw.choice((self.add_node, self.drop_node))(name)

    def let_go(self, uid):
        self.held.pop(uid, None)
        self.settled.pop(uid, None)

    def check(self):
        view = self.table.snapshot()
        assert self.assumed.counts() == (len(self.bound), len(self.held))
        assert self.table.sizes() == (len(self.nodes), len(self.bound) + len(self.held))
        where = {**self.bound, **self.held}
        for name in self.nodes:
            mine = [uid for uid, there in where.items() if there == name]
            want = sum(dict(self.pods[uid].spec.requests)["cpu"] for uid in mine)
            assert view.requested[CPU, view.index[name]] == want
            assert set(view.pods[view.index[name]]) == set(mine)
        assert not view.requested[:, np.flatnonzero(~view.valid)].any()


@pytest.mark.parametrize("seed", range(80))
def test_nothing_leaks_by_a_plain_recount(seed):
    recount = Recount(random.Random(seed))  # noqa: S311  # drawn tests, no secret
    steps = ("assume", "assume", "observe", "remove", "forget", "settle", "settle", "advance", "node")
    for _ in range(120):
        getattr(recount, recount.draw.choice(steps))(recount.draw.choice(recount.uids), recount.draw.choice("abc"))
        recount.check()
    recount.applied += 10
    recount.assumed.advance(recount.applied)
    recount.assumed.clear()
    for uid in recount.uids:
        recount.assumed.remove(uid)
    view = recount.table.snapshot()
    assert not view.requested.any()
    assert not view.scoring.any()
    assert recount.table.sizes()[1] == 0
