"""The phases of a hand-off: fault, detected, elected, warm, first bind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from chaos.effect import Effect
from chaos.handoff import ACQUIRE, ANCHOR, BARRIER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chaos.record import Account, Action, Record
    from chaos.spans import Span
    from chaos.terms import Term

NAMES: Final = ("detected", "elected", "warm", "first_bind")
"""The phases in their order."""

WIDE: Final = (Effect.STORE, Effect.KEYS, Effect.CUT)
"""What may end a term without being aimed at its holder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phases:
    """Seconds from the fault to the end of each phase, so they only grow; None: it was not reached, or nobody saw it.

    Attributes:
        detected: The successor sent the acquire that won.
        elected: That acquire was committed, as etcd's watch or its reply brought it, whichever was first.
        warm: The successor's caches had passed its token.
        first_bind: Its first bind was committed, as the watch brought it.
        error: Seconds by which moments of the successor's own may be off.
    """

    detected: float | None = None
    elected: float | None = None
    warm: float | None = None
    first_bind: float | None = None
    error: float = 0.0

    def reached(self, phase: str) -> float | None:
        """The value of one of `NAMES`."""
        value: float | None = getattr(self, phase)
        return value

    def document(self) -> dict[str, float | None]:
        """In milliseconds."""
        return {f"{name}_ms": milliseconds(self.reached(name)) for name in NAMES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Succession:
    """One term, the next one of its lock, and the action that led from one to the other.

    Attributes:
        takeover: `release`, `expiry`, `evidence` or `first`, as the successor told; "" if it told nothing.
        released: Seconds from the action to the old leader's release as the watch brought it; None: there was none.
    """

    action: Action
    old: Term
    new: Term
    takeover: str
    released: float | None
    phases: Phases


def successions(record: Record) -> tuple[Succession, ...]:
    """Each hand-off that followed an action, in order: the last one aimed at the holder, else at what it depends on."""
    return tuple(
        found
        for old, new in _pairs(record)
        if (action := _cause(record, old, new)) is not None
        for found in (_succession(record, action, old, new),)
    )


def phases_of(record: Record) -> Phases:
    """The first hand-off's: what a trial of one fault is about. Without one, nothing was reached."""
    found = successions(record)
    return found[0].phases if found else Phases()


def moments(record: Record) -> dict[int, float]:
    """When terms began and ended, by revision: seconds since the first one began, as the watch saw it."""
    terms = record.ledger.terms.by_token.values()
    revisions = {revision for term in terms for revision in (term.token, term.until_revision) if revision is not None}
    seen = {revision: at for revision in sorted(revisions) if (at := record.seen(revision)) is not None}
    first = min(seen.values(), default=0.0)
    return {revision: at - first for revision, at in seen.items()}


def milliseconds(seconds: float | None) -> float | None:
    """Seconds as milliseconds, to the microsecond."""
    return None if seconds is None else round(seconds * 1e3, 3)


def _pairs(record: Record) -> Iterator[tuple[Term, Term]]:
    """Each term of a lock with the next one of that lock."""
    latest: dict[str, Term] = {}
    for term in record.ledger.terms.by_token.values():
        if term.lock in latest:
            yield latest[term.lock], term
        latest[term.lock] = term


def _cause(record: Record, old: Term, new: Term) -> Action | None:
    began, ended = record.seen(old.token), record.seen(new.token)
    if ended is None:
        return None
    during = [each for each in record.actions if (began is None or began <= each.at) and each.at <= ended]
    aimed = [each for each in during if each.identity == old.identity]
    wide = [each for each in during if each.effect in WIDE]
    return max(aimed or wide, key=lambda action: action.at, default=None)


def _succession(record: Record, action: Action, old: Term, new: Term) -> Succession:
    account = record.account(new.identity)
    anchor = _first(account, ANCHOR, token=new.token)
    acquire = _won(account, anchor)
    barrier = _first(account, BARRIER, token=new.token, passed=True)

    def since(moment: float | None) -> float | None:
        return None if moment is None else moment - action.at

    replied = acquire.end if acquire is not None else None
    committed = [moment for moment in (record.seen(new.token), replied) if moment is not None]
    return Succession(
        action=action,
        old=old,
        new=new,
        takeover=str(anchor.attributes.get("takeover", "")) if anchor is not None else "",
        released=since(record.seen(old.until_revision) if old.until_revision != new.token else None),
        phases=Phases(
            detected=since(acquire.start if acquire is not None else None),
            elected=since(min(committed, default=None)),
            warm=since(barrier.end if barrier is not None else None),
            first_bind=since(record.seen(next(_binds(record, new.token), None))),
            error=account.error if account is not None else 0.0,
        ),
    )


def _first(account: Account | None, name: str, **attributes: object) -> Span | None:
    """The first span of that name with these attributes."""
    told = account.told(name) if account is not None else iter(())
    return next((span for span in told if attributes.items() <= span.attributes.items()), None)


def _won(account: Account | None, anchor: Span | None) -> Span | None:
    """The acquire that began the term of an anchor: the last one that was won before it."""
    if account is None or anchor is None:
        return None
    won = [
        span
        for span in account.told(ACQUIRE)
        if span.attributes.get("outcome") == "acquired" and span.start <= anchor.start
    ]
    return won[-1] if won else None


def _binds(record: Record, token: int) -> Iterator[int]:
    """The revisions at which a term bound pods."""
    for write in record.ledger.writes:
        if write.token == token and write.kind == "pods" and write.after is not None and write.after.node:
            before = write.before.node if write.before is not None else ""
            if before != write.after.node:
                yield write.revision
