"""What can't be decoded is refused, whichever the kind of the method."""

from __future__ import annotations

import grpc
import pytest

from lockd.daemon.decoding import MALFORMED, Decoding, sound, tolerant
from lockd.daemon.refusals import Refusal
from lockd.v1 import lock_pb2 as pb

BAD = b"\xff\xff\xff"
GOOD = pb.CheckRequest(fencing_token=7).SerializeToString()


class Aborted(Exception):
    """As grpc's own, which ends the method."""


class Context:
    def __init__(self):
        self.code = None

    def abort(self, code, details):
        self.code = code
        assert ".proto" in details
        raise Aborted


def made(factory, behave):
    """A method as it is once the interceptor has seen it."""
    handler = factory(behave, pb.CheckRequest.FromString, pb.CheckResponse.SerializeToString)
    return Decoding().intercept_service(lambda _: handler, None)


def test_a_decoder_no_longer_raises():
    decode = tolerant(pb.CheckRequest.FromString)
    assert decode(BAD) is MALFORMED
    assert decode(GOOD).fencing_token == 7


def test_a_method_that_gives_one_answer():
    handler = made(grpc.unary_unary_rpc_method_handler, lambda request, _: request.fencing_token)
    context = Context()
    assert handler.unary_unary(handler.request_deserializer(GOOD), context) == 7
    with pytest.raises(Aborted):
        handler.unary_unary(handler.request_deserializer(BAD), context)
    assert context.code is grpc.StatusCode.INVALID_ARGUMENT


def test_a_method_that_answers_by_a_stream():
    handler = made(grpc.unary_stream_rpc_method_handler, lambda request, _: iter([request.fencing_token]))
    context = Context()
    assert list(handler.unary_stream(handler.request_deserializer(GOOD), context)) == [7]
    with pytest.raises(Aborted):
        list(handler.unary_stream(handler.request_deserializer(BAD), context))
    assert context.code is grpc.StatusCode.INVALID_ARGUMENT


def test_a_method_that_takes_a_stream():
    handler = made(grpc.stream_stream_rpc_method_handler, lambda requests, _: (r.fencing_token for r in requests))
    context = Context()
    answers = handler.stream_stream(map(handler.request_deserializer, (GOOD, BAD, GOOD)), context)
    assert next(answers) == 7
    with pytest.raises(Aborted):
        next(answers)
    assert context.code is grpc.StatusCode.INVALID_ARGUMENT


def test_a_bad_message_does_not_look_like_the_end_of_a_stream():
    with pytest.raises(Refusal):
        list(sound(iter([MALFORMED])))


def test_a_method_that_is_not_there_stays_so():
    assert Decoding().intercept_service(lambda _: None, None) is None
