"""A gRPC method with something put around it: made anew, in the shape that it had."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import grpc

if TYPE_CHECKING:
    from collections.abc import Callable

    Interceptor = grpc.ServerInterceptor[Any, Any]
    Handler = grpc.RpcMethodHandler[Any, Any]
else:
    Interceptor = grpc.ServerInterceptor  # generic in its stubs alone

_MAKERS: Final[dict[tuple[bool, bool], Any]] = {
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, False): grpc.stream_unary_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}
"""By whether messages come, and go, as streams."""


def answering(handler: Any) -> Callable[[Any, grpc.ServicerContext], Any]:
    """The function of a method, whatever its shape: gives the answer, or an iterator of answers."""
    found: Callable[[Any, grpc.ServicerContext], Any] = (
        handler.unary_unary or handler.unary_stream or handler.stream_unary or handler.stream_stream
    )
    return found


def wrapped(
    handler: Any,
    answer: Callable[[Any, grpc.ServicerContext], Any],
    *,
    decode: Callable[[bytes], Any] | None = None,
) -> Handler:
    """The method with another function, and another decoder if one is given."""
    make = _MAKERS[handler.request_streaming, handler.response_streaming]
    made: Handler = make(answer, decode or handler.request_deserializer, handler.response_serializer)
    return made
