"""Nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import msgspec

from replica.api.kinds import NODE, Kind
from replica.api.objects import Metadata, Object
from replica.api.resources import PODS, Amounts, frozen, parse_amounts
from replica.api.taints import NO_SCHEDULE, UNSCHEDULABLE, Taint
from replica.api.wire import Reader

DEFAULT_PODS: Final = 110
"""Pods on a node that doesn't say how many: what a kubelet reports unless told otherwise."""


class Node(Object, frozen=True, gc=False, kw_only=True):
    """A node.

    Attributes:
        allocatable: What its pods may take together (`status.allocatable`, else `status.capacity`).
        taints: As in `spec.taints`.
        unschedulable: Cordoned.
        images: Name -> bytes of what it already has; an image may have several names. Not to be changed.
        ready: Its `Ready` condition, True when it has none.
        deleting: Is it marked for deletion?
    """

    KIND: ClassVar[Kind] = NODE

    allocatable: Amounts = ()
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    images: Mapping[str, int] = {}
    ready: bool = True
    deleting: bool = False

    @property
    def effective_taints(self) -> tuple[Taint, ...]:
        """Its taints, with the one that cordoning stands for."""
        return (*self.taints, Taint(UNSCHEDULABLE, NO_SCHEDULE)) if self.unschedulable else self.taints


class _Image(msgspec.Struct, gc=False, rename="camel"):
    names: list[str] = []
    size_bytes: int = 0


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""


class _Spec(msgspec.Struct, gc=False):
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False


class _Status(msgspec.Struct, gc=False):
    allocatable: dict[str, str | int | float] | None = None
    capacity: dict[str, str | int | float] = {}
    images: list[_Image] = []
    conditions: list[_Condition] = []


class _Document(msgspec.Struct, gc=False):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


_READER: Final = Reader(_Document)


def read_node(raw: bytes) -> tuple[Metadata, dict[str, Any]]:
    """A node's metadata and own fields, from its manifest.

    Raises:
        msgspec.MsgspecError: Not JSON, or a field of another type.
        QuantityError: An amount is no quantity.
    """
    document = _READER.read(raw)
    status = document.status
    amounts = status.capacity if status.allocatable is None else status.allocatable
    ready = [each.status == "True" for each in status.conditions if each.type == "Ready"]
    return document.metadata, {
        "allocatable": frozen({PODS: DEFAULT_PODS, **parse_amounts(amounts)}),
        "taints": document.spec.taints,
        "unschedulable": document.spec.unschedulable,
        "images": {name: image.size_bytes for image in status.images for name in image.names},
        "ready": all(ready),
        "deleting": bool(document.metadata.deletion_timestamp),
    }
