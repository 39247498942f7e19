"""Messages that can't be decoded: INVALID_ARGUMENT for who sent them, and no traceback in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import DecodeError

from lockd.daemon.refusals import Refusal, invalid, refuse
from lockd.daemon.wrapping import Interceptor, answering, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import grpc

    from lockd.daemon.wrapping import Handler

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
        if handler is None:
            return None
        inner = answering(handler)
        checked = sound if handler.request_streaming else _checked

        def answers(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            try:
                yield from inner(checked(request), context)
            except Refusal as error:
                refuse(context, error)

        def answer(request: Any, context: grpc.ServicerContext) -> Any:
            try:
                return inner(checked(request), context)
            except Refusal as error:
                refuse(context, error)

        behave = answers if handler.response_streaming else answer
        return wrapped(handler, behave, decode=tolerant(handler.request_deserializer))


def _checked(request: Any) -> Any:
    if request is MALFORMED:
        raise malformed()
    return request
