"""A fault counts only if it was seen to take effect, and a run is over only when all were seen to be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaos.checks.violation import Violation
from chaos.effect import Effect
from chaos.handoff import RENEW

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.record import Action, Record
    from chaos.spans import Span

SETTLING = 1.0
"""Seconds from the moment before a fault is applied until it is surely in force: its proof is younger than that."""


def unproven(record: Record) -> Iterator[Violation]:
    """Each action has a proof that it took effect; each that has something to undo was undone, with a proof too."""
    for action in record.actions:
        problem = ""
        if not action.proof:
            problem = "nothing was observed that shows that it took effect"
        elif action.heals and action.healed_at is None:
            problem = "it was never undone"
        elif action.heals and not action.healing:
            problem = "nothing was observed that shows that it was undone"
        if problem:
            yield Violation(
                check="fault-unproven",
                message=f"{action.fault} on {action.target}: {problem}",
                identity=action.identity,
                at=action.at,
            )


def ineffective(record: Record) -> Iterator[Violation]:
    """What stands still begins nothing, and who is cut off from etcd renews nothing, from the proof to the healing."""
    for action in record.actions:
        told = _impossible(record, action)
        if told is not None:
            name = record.name(action.identity)
            yield Violation(
                check="fault-ineffective",
                message=f"{action.fault} on {action.target} was not in force all the time",
                identity=action.identity,
                at=told.start,
                evidence=(
                    f"{record.moment(action.at)}  {action.fault}: {action.proof}",
                    f"{record.moment(told.start)}  {name} began {told.name}",
                    f"{record.moment(told.end)}  {name} ended it",
                    f"{record.moment(action.healed_at)}  {action.fault} undone: {action.healing}",
                ),
            )


def _impossible(record: Record, action: Action) -> Span | None:
    """The first thing that a process told to have done while it could not."""
    account = record.account(action.identity)
    if account is None or action.healed_at is None:
        return None
    over = action.healed_at if action.lifted_at is None else action.lifted_at
    since, until = action.at + SETTLING + account.error, over - account.error
    if action.effect is Effect.CUT:  # of two on one link the newer one counts
        mine = (each.at for each in record.actions if each.effect is Effect.CUT and each.identity == action.identity)
        until = min((until, *(at - account.error for at in mine if at > action.at)))
    if action.effect is Effect.PAUSE:
        return next((span for span in account.spans if since < span.start < until), None)
    if action.cuts_off:
        renewed = (span for span in account.told(RENEW) if span.attributes.get("outcome") == "renewed")
        return next((span for span in renewed if since < span.start and span.end < until), None)
    return None
