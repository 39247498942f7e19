import json

import pytest

from chaos.proxy.counters import Counters, Dropped
from chaos.proxy.link import Link
from chaos.proxy.route import Route
from chaos.proxy.rule import PASS, Direction, DropReply, Mode, Rule, Unit
from chaos.proxy.rulebook import Rulebook
from lockd.errors import ConfigError

ONE, TWO, OTHER = Link("a", "etcd-1"), Link("a", "etcd-2"), Link("b", "a")
HOLE = Rule(mode=Mode.BLACK_HOLE)
REFUSE = Rule(mode=Mode.REFUSE)


@pytest.fixture
def book():
    return Rulebook()


def test_a_rule_is_in_force_on_its_links_until_it_is_lifted(book):
    hold = book.set({ONE: HOLE})
    assert (book.rule(ONE), book.rule(TWO)) == (HOLE, PASS)
    book.lift(hold)
    book.lift(hold)
    assert book.rule(ONE) == PASS


def test_of_two_the_newer_counts_until_it_is_lifted(book):
    older, newer = book.set({ONE: HOLE}), book.set({ONE: REFUSE})
    assert book.rule(ONE) == REFUSE
    book.lift(newer)
    assert book.rule(ONE) == HOLE
    newer = book.set({ONE: REFUSE})
    book.lift(older)
    assert book.rule(ONE) == REFUSE


def test_the_first_few_are_counted_over_all_links_together(book):
    rule = Rule(mode=Mode.RESET, first=2)
    hold = book.set({ONE: rule, TWO: rule})
    for link in (ONE, TWO):
        assert book.fails_connections(link)
        book.use(link)
    assert (hold.used, book.rule(ONE), book.rule(TWO)) == (2, PASS, PASS)
    assert not book.fails_connections(ONE)


def test_a_rule_without_a_number_is_never_used_up(book):
    hold = book.set({ONE: Rule(mode=Mode.RESET)})
    book.use(ONE)
    assert (hold.used, book.fails_connections(ONE)) == (0, True)


def test_nobody_listens_only_while_all_are_refused(book):
    assert not book.is_closed(ONE)
    hold = book.set({ONE: REFUSE})
    assert book.is_closed(ONE)
    assert book.fails_connections(ONE)  # what was about to be taken when it began
    book.lift(hold)
    book.set({ONE: Rule(mode=Mode.REFUSE, first=3)})
    assert not book.is_closed(ONE)


def test_calls_are_failed_instead_of_connections(book):
    book.set({ONE: Rule(mode=Mode.RESET, unit=Unit.CALLS)})
    assert (book.fails_connections(ONE), book.fails_calls(ONE)) == (False, True)
    book.set({ONE: Rule(mode=Mode.RESET, unit=Unit.PRESENT)})
    assert (book.fails_connections(ONE), book.fails_calls(ONE)) == (False, False)


def test_replies_are_swallowed_so_many_times(book):
    order = DropReply(times=2)
    hold = book.set({ONE: Rule(drop_reply=order), TWO: Rule(drop_reply=order)})
    for link, revision in ((ONE, 5), (TWO, 9)):
        assert book.drop(link) == order
        book.dropped(link, revision)
    assert book.drop(ONE) is book.drop(TWO) is None
    assert hold.dropped == [Dropped("a", "etcd-1", 5), Dropped("a", "etcd-2", 9)]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"latency": -1.0}, "latency"),
        ({"latency": 1.0, "jitter": 2.0}, "jitter"),
        ({"first": 2}, "first goes with"),
        ({"mode": Mode.REFUSE, "unit": Unit.CALLS}, "are failed by reset"),
        ({"mode": Mode.RESET, "unit": Unit.PRESENT, "first": 1}, "first goes with new connections"),
        ({"direction": Direction.TO}, "a direction goes with"),
        ({"drop_reply": DropReply(times=0)}, "one reply at least"),
        ({"mode": Mode.REFUSE, "drop_reply": DropReply()}, "drop_reply goes with pass"),
    ],
)
def test_a_rule_that_makes_no_sense_cannot_be_made(fields, problem):
    with pytest.raises(ConfigError, match=problem):
        Rule(**fields)


@pytest.mark.parametrize(
    "rule",
    [
        PASS,
        Rule(mode=Mode.BLACK_HOLE, direction=Direction.FROM),
        Rule(mode=Mode.RESET, first=3, unit=Unit.CALLS),
        Rule(latency=0.5, jitter=0.25, seed=7),
        Rule(drop_reply=DropReply(times=2, containing="/pods/", silent=True)),
    ],
)
def test_rules_and_counters_are_told_as_they_are(rule):
    assert Rule.parse(json.loads(json.dumps(rule.document()))) == rule
    counters = Counters(rule=rule, open=2, from_held=5)
    assert Counters.parse(json.loads(json.dumps(counters.document()))) == counters


def test_a_link_to_anything_but_etcd_is_to_a_presence():
    assert [link.kind for link in (ONE, OTHER)] == ["etcd", "presence"]
    assert str(ONE) == "a -> etcd-1"


def delays(seed, link=ONE):
    book = Rulebook()
    book.set({link: Rule(latency=1.0, jitter=0.5, seed=seed)})
    route = Route(link, book, lambda: None)
    return [route.delay(Direction.TO) for _ in range(20)]


def test_jitter_comes_from_the_seed():
    assert delays(1) == delays(1)
    assert delays(1) != delays(2)
    assert delays(1) != delays(1, TWO)
    assert all(0.5 <= delay <= 1.5 for delay in delays(1))


def test_a_direction_is_of_that_direction_alone(book):
    route = Route(ONE, book, lambda: None)
    hold = book.set({ONE: Rule(mode=Mode.BLACK_HOLE, direction=Direction.FROM)})
    assert (route.is_held(Direction.TO), route.is_held(Direction.FROM)) == (False, True)
    book.lift(hold)
    book.set({ONE: Rule(latency=1.0, direction=Direction.TO)})
    assert (route.delay(Direction.TO), route.delay(Direction.FROM)) == (1.0, 0.0)


def test_failed_connections_are_counted_by_how_they_were_failed(book):
    route = Route(ONE, book, lambda: None)
    for rule in (Rule(mode=Mode.REFUSE, first=1), Rule(mode=Mode.RESET, first=1)):
        hold = book.set({ONE: rule})
        route.fail_connection()
        assert hold.used == 1
        book.lift(hold)
    assert (route.counters().refused, route.counters().reset) == (1, 1)
