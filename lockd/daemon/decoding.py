"""Messages that can't be decoded: INVALID_ARGUMENT for who sent them, and no traceback in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import grpc
from google.protobuf.message import DecodeError

from lockd.daemon.refusals import Refusal, invalid, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Interceptor = grpc.ServerInterceptor[Any, Any]
    Handler = grpc.RpcMethodHandler[Any, Any]
else:
    Interceptor = grpc.ServerInterceptor  # generic in its stubs alone

MALFORMED: Final = object()
"""In place of a message: gRPC answers INTERNAL, and logs a traceback, where decoding one raises."""


def tolerant(decode: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """A decoder that gives MALFORMED where the other would raise."""

    def decoded(data: bytes) -> Any:
        try:
            return decode(data)
        except DecodeError:
            return MALFORMED

    return decoded


def malformed() -> Refusal:
    """What the sender is told."""
    return invalid(["a message can't be decoded: encode it as this method's .proto says"])


def sound(requests: Iterator[Any]) -> Iterator[Any]:
    """The messages of a stream.

    Raises:
        Refusal: At one that can't be decoded. It must not look like the end of the client's side, which releases.
    """
    for request in requests:
        if request is MALFORMED:
            raise malformed()
        yield request


class Decoding(Interceptor):
    """Has each method of all services refuse what can't be decoded."""

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Handler | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Put another decoder, and a look at what came of it, around the method."""
        handler: Any = continuation(handler_call_details)
        if handler is None or (handler.request_streaming and not handler.response_streaming):
            return cast("Handler | None", handler)  # no service has a method that takes a stream and gives one answer
        inner = handler.stream_stream or handler.unary_stream or handler.unary_unary

        def answers(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            try:
                yield from inner(sound(request) if handler.request_streaming else _checked(request), context)
            except Refusal as error:
                refuse(context, error)

        def answer(request: Any, context: grpc.ServicerContext) -> Any:
            try:
                return inner(_checked(request), context)
            except Refusal as error:
                refuse(context, error)

        make: Any = grpc.unary_unary_rpc_method_handler
        if handler.response_streaming:
            make = (
                grpc.stream_stream_rpc_method_handler
                if handler.request_streaming
                else grpc.unary_stream_rpc_method_handler
            )
        behave: Any = answers if handler.response_streaming else answer
        made: Handler = make(behave, tolerant(handler.request_deserializer), handler.response_serializer)
        return made


def _checked(request: Any) -> Any:
    if request is MALFORMED:
        raise malformed()
    return request
