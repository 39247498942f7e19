"""Changing a part of stored objects, each by compare-and-swap, as a user's tool: with token 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from lockd.errors import LockdError
from replica.api.codec import Undecodable, encode, parse_envelope
from replica.api.keys import object_key
from replica.ctl.store import Change

if TYPE_CHECKING:
    from collections.abc import Callable

    from replica.api.kinds import Kind
    from replica.ctl.store import ObjectStore

ATTEMPTS: Final = 10


class Missing(LockdError):
    """There is no such object."""

    def __init__(self, kind: Kind, name: str) -> None:
        super().__init__(f'{kind.qualified_plural} "{name}" not found')
        self.kind = kind
        self.name = name


def edit(
    store: ObjectStore,
    kind: Kind,
    name: str,
    change: Callable[[dict[str, Any]], dict[str, Any] | None],
    *,
    namespace: str = "",
    dry_run: bool = False,
) -> bool:
    """Change an object's manifest; its node and what the scheduler said stay.

    Args:
        change: Makes the new manifest of the stored one, and leaves that as it is; None: nothing is to be done. Called
            again where somebody else wrote in the meantime. What it raises ends the attempt.
        dry_run: Write nothing.

    Returns:
        Was there anything to change?

    Raises:
        Missing: There is no such object.
        Undecodable: What is stored is none.
        LockdError: Others changed it all the time.
        StoreError: etcd didn't answer, or refused.
    """
    key = object_key(store.prefix, kind, name, namespace)
    (seen,) = store.read([key])
    sent: bytes | None = None
    for _ in range(ATTEMPTS):
        if seen is None:
            raise Missing(kind, name)
        if seen.value == sent:
            return True
        envelope = parse_envelope(key, seen.value)
        try:
            manifest = msgspec.json.decode(envelope.manifest, type=dict[str, Any])
        except msgspec.MsgspecError as error:
            raise Undecodable(key, f"its manifest can't be read: {error}") from error
        after = change(manifest)
        if after is None:
            # It is so by an earlier copy of the same write, or by somebody else's.
            return sent is not None
        if dry_run:
            return True
        sent = encode(msgspec.json.encode(after), node=envelope.node_name, status=envelope.status)
        (outcome,) = store.write([Change(key, seen.mod_revision, sent)])
        if outcome.applied:
            return True
        seen = outcome.found
    raise LockdError(f"{kind.qualified}/{name}: it changed {ATTEMPTS} times while it was being changed here: try again")
