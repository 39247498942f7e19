"""Records made by hand: a history whose revision r was seen at second r, and what processes told beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chaos.handoff import ACQUIRE, ANCHOR, LOST, RENEW
from chaos.history import Stamp
from chaos.ledger import Ledger
from chaos.record import LOCK, Account, Action, Exit, Operation, Record
from chaos.spans import Span
from chaos.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chaos.effect import Effect
    from tests.harness.history import HistoryMaker

FAST = Timing(lease_duration=3.0, renew_deadline=2.0, retry_period=0.5)

WALL = 1_700_000_000.0
"""The wall clock at second 0."""


def stamps(last: int) -> dict[int, Stamp]:
    return {revision: Stamp(float(revision), WALL + revision) for revision in range(1, last + 1)}


def record(made: HistoryMaker, **fields: Any) -> Record:
    """What is judged; a second of slack, watched for 1000 s unless told otherwise."""
    ledger = Ledger.of(made.history())
    told = {"stamps": stamps(made.revision), "timing": FAST, "until": 1000.0, "slack": 1.0, **fields}
    return Record(ledger=ledger, **told)


def account(identity: str, *spans: Span | Iterable[Span], error: float = 0.001, **fields: Any) -> Account:
    told = [span for each in spans for span in ((each,) if isinstance(each, Span) else each)]
    told.sort(key=lambda span: span.start)
    return Account(identity=identity, name=f"replica-{identity}", spans=tuple(told), error=error, **fields)


def term(
    token: int, *, began: float, lost: float | None = None, takeover: str = "expiry", lock: str = LOCK
) -> list[Span]:
    """The acquire, the anchor, and the end of a term as its holder tells them."""
    told = [
        span(ACQUIRE, began - 0.01, began, lock=lock, outcome="acquired"),
        span(ANCHOR, began, began, lock=lock, token=token, takeover=takeover),
    ]
    if lost is not None:
        told.append(span(LOST, lost, lost, lock=lock, reason="deadline", release=False))
    return told


def renewal(token: int, revision: int, sent: float, replied: float | None = None) -> Span:
    replied = sent + 0.01 if replied is None else replied
    return span(RENEW, sent, replied, token=token, revision=revision, outcome="renewed", lock=LOCK, copies=1)


def span(name: str, start: float, end: float, **attributes: Any) -> Span:
    return Span(name=name, start=start, end=end, attributes=attributes)


def action(effect: Effect, identity: str, at: float, healed: float | None = None, **fields: Any) -> Action:
    """A fault that took effect, and that was undone if it has an end."""
    told = {"fault": effect.value, "target": f"replica-{identity}", "proof": "seen", "heals": healed is not None}
    undone = {} if healed is None else {"healed_at": healed, "healing": "seen"}
    return Action(effect=effect, identity=identity, at=at, **{**told, **undone, **fields})


def end(identity: str, code: int, at: float, asked: float | None = None) -> Exit:
    return Exit(name=f"replica-{identity}", identity=identity, code=code, at=at, asked_at=asked)


def operation(sent: float, replied: float | None, revision: int | None, **fields: Any) -> Operation:
    told = {"client": "client", "what": "create", "outcome": "unknown" if revision is None else "applied", **fields}
    return Operation(sent=sent, replied=replied, revision=revision, **told)
