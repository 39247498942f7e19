"""Which calls are failed and whose replies are swallowed, on bytes in whatever pieces."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.proxy.frames import END_STREAM, Kind
from chaos.proxy.rule import DropReply
from chaos.proxy.screen import End, Screen
from lockd.etcd import wire
from lockd.etcd.model import txn_request
from lockd.ports import Compare, Field, Get, Put, Txn
from tests.harness.http2 import GREETING, HELLO, frame, message, request, response

READ = wire.RangeRequest(key=b"/lockd/leases/a").SerializeToString()


def write(key):
    return txn_request(Txn((Compare(key, Field.MOD, 0),), (Put(key, b"v" * 100),), (Get(key),))).SerializeToString()


def outcome(revision, *, succeeded):
    reply = wire.TxnResponse(succeeded=succeeded)
    reply.header.revision = revision
    return reply.SerializeToString()


class Orders:
    """What a rule asks for."""

    def __init__(self, order=None, *, calls=0):
        self.order, self.calls, self.revisions = order, calls, []

    def fail_call(self):
        self.calls -= 1
        return self.calls >= 0

    def drop(self):
        left = self.order is not None and len(self.revisions) < self.order.times
        return self.order if left else None

    def dropped(self, revision):
        self.revisions.append(revision)


@pytest.fixture
def begun():
    """A connection under orders, after its greetings."""

    def make(orders):
        screen = Screen(orders)
        assert screen.request(HELLO) == (HELLO, None)
        assert screen.response(GREETING) == (GREETING, None)
        return screen

    return make


def test_without_orders_everything_passes(begun):
    screen = begun(Orders())
    assert screen.request(request(1, write("/a"))) == (request(1, write("/a")), None)
    reply = response(1, outcome(5, succeeded=True))
    assert screen.response(reply) == (reply, None)


@pytest.mark.parametrize(("silent", "end"), [(False, End.RESET), (True, End.DEAFEN)])
def test_the_reply_of_a_committed_transaction_is_swallowed_and_what_came_before_it_is_not(begun, silent, end):
    orders = Orders(DropReply(silent=silent))
    screen = begun(orders)
    assert screen.request(request(1, READ) + request(3, write("/a")))[1] is None
    others = response(1, outcome(3, succeeded=True))  # as that of one deleted key looks
    swallowed = response(3, outcome(7, succeeded=True))
    passed, found = screen.response(others + swallowed + others)
    assert found is end
    assert passed.startswith(others)
    assert message(outcome(7, succeeded=True)) not in passed
    assert orders.revisions == [7]


def test_one_that_was_not_committed_passes_and_the_next_is_swallowed(begun):
    orders = Orders(DropReply())
    screen = begun(orders)
    screen.request(request(1, write("/a")) + request(3, write("/a")))
    refused = response(1, outcome(7, succeeded=False))
    assert screen.response(refused) == (refused, None)
    assert screen.response(response(3, outcome(8, succeeded=True)))[1] is End.RESET
    assert orders.revisions == [8]


def test_replies_of_refused_ones_are_swallowed_only_if_asked_for(begun):
    orders = Orders(DropReply(refused=True))
    screen = begun(orders)
    screen.request(request(1, write("/a")))
    assert screen.response(response(1, outcome(7, succeeded=False)))[1] is End.RESET
    assert orders.revisions == [7]


def test_an_error_in_place_of_a_reply_passes(begun):
    screen = begun(Orders(DropReply()))
    screen.request(request(1, write("/a")))
    error = frame(Kind.HEADERS, 1, b"grpc-status 14", flags=END_STREAM)
    assert screen.response(error) == (error, None)


def test_only_transactions_that_hold_the_text(begun):
    orders = Orders(DropReply(containing="/lockd/pods/"))
    screen = begun(orders)
    screen.request(request(1, write("/lockd/leases/a")) + request(3, write("/lockd/pods/b")))
    first = response(1, outcome(7, succeeded=True))
    assert screen.response(first) == (first, None)
    assert screen.response(response(3, outcome(8, succeeded=True)))[1] is End.RESET


def test_no_more_than_asked_for(begun):
    orders = Orders(DropReply(times=1))
    one, other = begun(orders), begun(orders)
    for screen in (one, other):
        screen.request(request(1, write("/a")))
    assert one.response(response(1, outcome(7, succeeded=True)))[1] is End.RESET
    second = response(1, outcome(8, succeeded=True))
    assert other.response(second) == (second, None)
    assert orders.revisions == [7]


def test_a_call_that_began_before_the_order_is_let_be(begun):
    orders = Orders()
    screen = begun(orders)
    screen.request(request(1, write("/a")))
    orders.order = DropReply()
    assert screen.response(response(1, outcome(7, succeeded=True)))[1] is None


@settings(max_examples=40)
@given(st.lists(st.integers(1, 40), max_size=60), st.lists(st.integers(1, 40), max_size=60))
def test_pieces_change_nothing(asked, told):
    orders = Orders(DropReply(containing="/lockd/pods/"))
    screen = Screen(orders)
    said = HELLO + request(1, READ) + request(3, write("/x")) + request(5, write("/lockd/pods/b"))
    for piece in pieces(said, asked):
        assert screen.request(piece) == (piece, None)
    heard = GREETING + response(3, outcome(7, succeeded=True)) + response(5, outcome(8, succeeded=True))
    passed = b""
    for piece in pieces(heard, told):
        part, end = screen.response(piece)
        passed += part
        if end is not None:
            break
    assert end is End.RESET
    assert orders.revisions == [8]
    assert response(3, outcome(7, succeeded=True)) in passed
    assert message(outcome(8, succeeded=True)) not in passed


def pieces(data, sizes):
    at = 0
    for size in (*sizes, len(data)):
        if piece := data[at : at + size]:
            yield piece
        at += size


def test_a_call_is_failed_before_anything_of_it_is_passed_on(begun):
    orders = Orders(calls=1)
    screen = begun(orders)
    assert screen.request(frame(4, 0, bytes(6)) + request(1, READ)) == (frame(4, 0, bytes(6)), End.RESET)
    assert begun(orders).request(request(1, READ)) == (request(1, READ), None)


def test_trailers_are_no_new_call(begun):
    orders = Orders()
    screen = begun(orders)
    screen.request(request(1, READ))
    orders.calls = 1
    trailers = frame(Kind.HEADERS, 1, b"x", flags=END_STREAM)
    assert screen.request(trailers) == (trailers, None)
    assert screen.request(request(3, READ))[1] is End.RESET
