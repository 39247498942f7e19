"""A new leader knows what its predecessors did before it places a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.beliefs import beliefs
from chaos.checks.violation import Violation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from chaos.ledger import Write
    from chaos.record import Record

REFUSED = "bind refused"
"""What a log says when a pod was not as the scheduler had it."""


def stale_views(record: Record) -> Iterator[Violation]:
    """Nobody tries to bind a pod that had its node before the term began: each cache has passed that by then."""
    tokens: dict[str, list[int]] = {}
    for belief in beliefs(record):
        if belief.lock in record.locks:
            tokens.setdefault(belief.identity, []).append(belief.token)
    tried = [
        (account.identity, line, token)
        for account in record.accounts
        for line in account.lines
        if line.event == REFUSED
        for token in tokens.get(account.identity, ())
    ]
    if not tried:
        return
    writes: dict[str, list[Write]] = {}
    for write in record.ledger.writes:
        if write.kind == "pods":
            writes.setdefault(write.key, []).append(write)
    for identity, line, token in tried:
        key, until = f"pods/{line.fields.get('pod')}", int(line.fields.get("revision", 0))
        bound = _bound(writes.get(key, ()), token, until)
        if bound is None or bound.after is None:
            continue
        yield Violation(
            check="stale-view",
            message=f"{record.name(identity)} tried to bind a pod in term {token} that had had its node since "
            f"revision {bound.revision}",
            revision=until,
            key=key,
            token=token,
            identity=identity,
            at=line.at,
            evidence=(
                f"revision {bound.revision}  {key} was bound to {bound.after.node} with token {bound.token}",
                f"revision {token}  the term of {record.name(identity)} began",
                f"revision {until}  its bind of {key} to {line.fields.get('node')} was refused",
            ),
        )


def _bound(writes: Sequence[Write], token: int, until: int) -> Write | None:
    """The write that gave a pod its node, if it had one when a term began and was still the same pod at `until`."""
    bound: Write | None = None
    for write in writes:
        if write.revision > until or (write.revision > token and bound is None):
            break
        if write.after is None or not write.after.node:
            bound = None
        elif bound is None:
            bound = write
    return bound
