"""Labels: a mapping that can't be changed and has a hash, one for all objects with the same labels."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NoReturn

import msgspec


class Labels(dict[str, str]):
    """Labels of an object. Reads are a dict's; writes raise TypeError; equal labels have equal hashes."""

    __slots__ = ("_hash",)
    _hash: int

    def __hash__(self) -> int:  # type: ignore[override]  # dict has none because it can change; this can't
        try:
            return self._hash
        except AttributeError:
            self._hash = hash(frozenset(self.items()))
            return self._hash

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("labels of a cached object can't be changed: make new ones")

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = __ior__ = _refuse


NO_LABELS: Final = Labels()
_DECODER: Final = msgspec.json.Decoder(dict[str, str])


@lru_cache(maxsize=4096)
def labels_from(raw: bytes) -> Labels:
    """The labels in a JSON object, null or nothing; the same object for the same bytes.

    Raises:
        msgspec.MsgspecError: Not an object of strings.
    """
    return Labels(_DECODER.decode(raw)) if raw not in {b"", b"null", b"{}"} else NO_LABELS
