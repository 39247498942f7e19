"""What all objects have in common."""

from __future__ import annotations

from functools import lru_cache
from sys import intern
from typing import ClassVar, Final, Self

import msgspec

from replica.api.kinds import Kind
from replica.api.labels import NO_LABELS, Labels
from replica.api.wire import Reader


class Object(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """An object as scheduling reads it, at one revision. Frozen and shared: change it by `msgspec.structs.replace`.

    Attributes:
        namespace: "" for kinds without.
        uid: Given at apply; another object of the same name has another one.
        created: RFC 3339, or "".
        mod_revision: etcd's, of this state: what a compare-and-swap must name.
        create_revision: etcd's, of the first state.
        token: The fencing token of whoever wrote this revision; 0: a user's tool.
    """

    KIND: ClassVar[Kind]

    name: str
    namespace: str = ""
    uid: str = ""
    labels: Labels = NO_LABELS
    created: str = ""
    mod_revision: int = 0
    create_revision: int = 0
    token: int = 0

    @property
    def path(self) -> str:
        """`namespace/name`, or `name`: what indexers key objects by."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def at(self, mod_revision: int, token: int) -> Self:
        """The same object as written by `token` at `mod_revision`."""
        return msgspec.structs.replace(self, mod_revision=mod_revision, token=token)


class OwnerReference(msgspec.Struct, gc=False):
    """One of the objects that an object depends on."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class Metadata(msgspec.Struct, gc=False, rename="camel"):
    """What is read of a manifest's `metadata`. Name and namespace come from the key."""

    uid: str = ""
    labels: msgspec.Raw = msgspec.Raw()
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    owner_references: msgspec.Raw = msgspec.Raw()

    @property
    def controller(self) -> str:
        """What controls the object, as `kind/name/uid`; "" for none.

        Raises:
            msgspec.MsgspecError: Not a list of owner references.
        """
        return _controller_in(bytes(self.owner_references))


_OWNERS: Final = Reader(list[OwnerReference])


@lru_cache(maxsize=4096)
def _controller_in(owners: bytes) -> str:
    """All pods of a controller name it by the same bytes, as a rule."""
    for each in _OWNERS.read(owners) if owners not in {b"", b"null"} else ():
        if each.controller:
            return intern(f"{each.kind}/{each.name}/{each.uid}")
    return ""
