"""What disruption budgets let go, as pods come and go."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from replica.preemption.book import BudgetBook, BudgetWatch
from replica.preemption.budgets import standings
from tests.harness.objects import pod
from tests.harness.preempting import budget, labelled, running

WEB = {"app": "web"}


def web(name, **more):
    return labelled(running(name, "n", **more), WEB)


@pytest.mark.parametrize(
    ("limits", "allowed"),
    [
        ({"min_available": 2}, 2),
        ({"min_available": "50%"}, 2),
        ({"min_available": "51%"}, 1),
        ({"min_available": 9}, 0),
        ({"max_unavailable": 1}, 1),
        ({"max_unavailable": "26%"}, 2),
        ({"max_unavailable": 0}, 0),
        ({"max_unavailable": 1, "expected": 5}, 0),
        ({}, 3),
    ],
)
def test_how_many_of_four_may_go(limits, allowed):
    (found,) = standings([budget("b", WEB, **limits)], [web(str(number)) for number in range(4)])
    assert (found.allowed, found.total, found.healthy) == (allowed, limits.get("expected", 4), 4)


def test_who_counts():
    pods = [
        web("well"),
        replace(web("going"), deleting=True),
        replace(web("sick"), unready=True),
        replace(web("waiting"), node=""),
        replace(web("done"), phase="Succeeded"),
        labelled(running("other", "n"), {"app": "db"}),
        replace(web("elsewhere"), namespace="other"),
    ]
    (found,) = standings([budget("b", WEB, min_available=1)], pods)
    assert (found.expected, found.healthy) == (4, 1)


@pytest.fixture
def pods():
    return {name: web(name) for name in "abcd"}


@pytest.fixture
def book(pods):
    return BudgetBook(lambda _namespace: pods.values())


def test_a_book_without_budgets_has_no_say(book, pods):
    assert book.violated(list(pods.values())) is None
    assert book.version == 0


def test_pods_in_a_row(book, pods):
    BudgetWatch(book).on_add(budget("b", WEB, min_available=2), initial=True)
    assert book.violated([pods[name] for name in "abcd"]) == (False, False, True, True)
    assert book.violated([labelled(pods["a"], {})]) is None


def test_the_book_follows_pods_and_budgets(book, pods):
    watch = BudgetWatch(book)
    made = budget("b", WEB, min_available=2)
    watch.on_add(made, initial=True)
    book.lose_pod(pods["a"])
    assert book.violated([pods["b"], pods["c"]]) == (False, True)
    book.see_pod(pods["a"])
    book.see_pod(pods["a"])  # told twice
    assert book.violated([pods["b"], pods["c"], pods["d"]]) == (False, False, True)
    book.see_pod(replace(pods["a"], unready=True))
    assert book.violated([pods["b"], pods["c"]]) == (False, True)
    assert book.violated([replace(pods["a"], unready=True)]) == (False,)  # it does nothing anyway
    book.see_pod(labelled(pods["a"], {}))
    pods.pop("a")
    version, budgets = book.version, book.budgets_version
    watch.on_update(made, budget("b", WEB, min_available=3))
    assert book.violated([pods["b"]]) == (True,)
    assert (book.version > version, book.budgets_version > budgets) == (True, True)
    watch.on_delete(made, stale=False)
    assert book.violated([pods["b"]]) is None


def test_who_was_chosen_to_go_is_missed_until_the_watch_shows_it(book, pods):
    book.see_budget(budget("b", WEB, min_available=2))
    book.going(["a"])
    assert book.violated([pods["b"], pods["c"]]) == (False, True)
    book.see_pod(replace(pods["a"], deleting=True))
    assert book.violated([pods["b"], pods["c"]]) == (False, True)
    book.lose_pod(pods["a"])
    assert book.violated([pods["b"], pods["c"]]) == (False, True)
    book.going(["b"])
    book.staying(["b"])
    assert book.violated([pods["c"], pods["d"]]) == (False, True)


def test_versions_move_only_with_what_matters(book, pods):
    book.see_budget(budget("b", WEB, min_available=2))
    version = book.version
    book.see_pod(replace(pods["a"], mod_revision=9))
    book.see_pod(pod("nobodys"))
    assert book.version == version
    book.see_pod(replace(pods["a"], deleting=True))
    assert book.version == version + 1
