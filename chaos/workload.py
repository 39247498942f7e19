"""Objects put into a cluster as a user's tool puts them, and where its pods are."""

from __future__ import annotations

import uuid
from importlib import resources
from typing import TYPE_CHECKING, Final

from lockd.etcd.retry import settle
from lockd.ports import Compare, Field, Put, Txn
from lockd.record import display_time
from replica.api.codec import decode_pod
from replica.api.keys import kind_prefix, object_key
from replica.api.kinds import POD
from replica.api.manifests import parse_manifests

if TYPE_CHECKING:
    import threading
    from collections.abc import Sequence

    from component.clock import Clock
    from lockd.etcd.gateway import Gateway
    from replica.api.drafts import Draft

ATTEMPT: Final = 1.0
WITHIN: Final = 15.0
"""Seconds before the next copy of a write goes to another member, and seconds for all of them."""


def shipped(name: str) -> tuple[Draft, ...]:
    """The objects of one of the manifests that this package ships, such as `nodes.yaml`."""
    content = resources.files("chaos").joinpath("manifests", name).read_bytes()
    return parse_manifests(content, name)


def create(gateway: Gateway, prefix: str, drafts: Sequence[Draft], *, clock: Clock, stop: threading.Event) -> None:
    """Create objects that aren't there yet, one transaction each; those that are stay as they are.

    Raises:
        StoreError: etcd did not take one.
    """
    for draft in drafts:
        key = object_key(prefix, draft.kind, draft.name, draft.namespace)
        value = draft.created(uid=str(uuid.uuid4()), at=display_time(clock.wall()))
        txn = Txn(compares=(Compare(key, Field.MOD, 0),), then=(Put(key, value),))
        settle(gateway, txn, clock=clock, stop=stop, attempt=ATTEMPT, within=WITHIN)


def placement(gateway: Gateway, prefix: str, *, timeout: float = WITHIN) -> dict[str, str]:
    """The node of each pod (`namespace/name`), "" for those that have none."""
    listing = gateway.list(kind_prefix(prefix, POD), timeout=timeout)
    return {pod.path: pod.node for pod in map(decode_pod, listing.kvs)}
