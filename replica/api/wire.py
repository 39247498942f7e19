"""Reading the part of a manifest that a type names, and nothing else of it."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")


class Reader(Generic[T]):
    """Decodes JSON into a type; fields that the type doesn't name are skipped, null counts as absent."""

    __slots__ = ("_decoder",)

    def __init__(self, type_: type[T]) -> None:
        self._decoder = msgspec.json.Decoder(type_)

    def read(self, raw: bytes) -> T:
        """Decode.

        Raises:
            msgspec.MsgspecError: Not JSON, or a field of another type; the message names its path.
        """
        try:
            return self._decoder.decode(raw)
        except msgspec.ValidationError:
            # A null is rare, so it costs a second pass rather than an option in every field's type.
            return self._decoder.decode(msgspec.json.encode(without_nulls(msgspec.json.decode(raw))))


def without_nulls(value: Any) -> Any:
    """A copy of JSON data in which no object has a null field and no list a null item."""
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value if item is not None]
    return value
