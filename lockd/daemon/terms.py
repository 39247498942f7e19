"""What etcd says of a term that a caller names: whether it stands, and how to give it back."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import grpc

from lockd import drafts
from lockd.daemon.refusals import Refusal
from lockd.drafts import Stamp
from lockd.errors import Unavailable
from lockd.etcd.classify import TIMED_OUT
from lockd.etcd.retry import settle
from lockd.fencing import Token
from lockd.lifeline import Claim
from lockd.observed import Observed
from lockd.ports import Failed, Get, Txn
from lockd.record import TermValue
from lockd.store import to_result, to_txn, to_view, whole_read

if TYPE_CHECKING:
    import threading

    from component.clock import Clock
    from lockd.drafts import Hold
    from lockd.etcd.gateway import Gateway
    from lockd.ports import LockName, Seen, TxnReply, View
    from lockd.record import LeaderRecord

ATTEMPT: Final = 0.25
"""Seconds before the next copy of a release goes to another member."""

SHORTEST: Final = 0.05


@dataclass(frozen=True, slots=True)
class Standing:
    """A lock's term as etcd had it.

    Attributes:
        token: Of the term in force; 0 when nobody holds the lock.
        changed: The term key's mod revision; 0 when it is absent.
        revision: etcd's, at which this was so.
    """

    token: int
    holder: str
    changed: int
    revision: int

    @classmethod
    def of(cls, term: Seen, revision: int) -> Standing:
        value = TermValue.parse(term.value) if term.value is not None else None
        holder = value.holder_identity if value is not None else ""
        return cls(term.mod_revision if holder else 0, holder, term.mod_revision, revision)

    def judge(self, token: int) -> None:
        """Raise Refusal for a token that this lock can't have given out."""
        if token <= 0:
            raise Refusal(grpc.StatusCode.INVALID_ARGUMENT, f"fencing_token must be above 0, not {token}")
        if token > self.changed:
            newest = f"its last change was at revision {self.changed}" if self.changed else "it was never held"
            raise Refusal(
                grpc.StatusCode.OUT_OF_RANGE,
                f"fencing_token {token} was not given out by this lock ({newest}): "
                "it is made up, or of another lock, or of an etcd that was replaced",
            )


class Terms:
    """Reads and ends terms; every call is bounded and may be made from any thread.

    Args:
        stop: Gives up what is waited for.
    """

    def __init__(self, gateway: Gateway, *, clock: Clock, stop: threading.Event) -> None:
        self._gateway = gateway
        self._clock = clock
        self._stop = stop

    def standing(self, lock: LockName, *, within: float) -> Standing:
        """The term as it stands, read linearizably.

        Raises:
            StoreError: etcd didn't answer, or refused.
        """
        reply = self._settle(Txn((), (Get(lock.lease), Get(lock.term))), within)
        view = to_view(reply)
        return Standing.of(view.term, view.revision)

    def whole(self, lock: LockName, *, within: float) -> View:
        """Lease, term and history at one revision, linearizably.

        Raises:
            StoreError: etcd didn't answer, or refused.
        """
        return to_view(self._settle(whole_read(lock), within))

    def claim(self, lock: LockName, token: int, acquisition: str, *, within: float) -> tuple[Claim, LeaderRecord]:
        """The term that a caller proves to be its own, and the election record.

        Raises:
            Refusal: The term is over, or the acquisition is not that of the term, or the token was never given out.
            StoreError: etcd didn't answer, or refused.
        """
        hold = self._hold(self.whole(lock, within=within), token, acquisition)
        if hold is None:
            raise Refusal(
                grpc.StatusCode.FAILED_PRECONDITION,
                f"the term with fencing_token {token} is over: stop acting on it, and enter again",
            )
        return Claim(hold.token, hold.term), hold.record

    def resign(self, lock: LockName, token: int, acquisition: str, *, within: float) -> bool:
        """Give a term back; False: it was over already.

        Raises:
            Refusal: The acquisition is not that of the term, or the token was never given out.
            StoreError: etcd didn't answer, or refused. OutcomeUnknown: it may have been done, or may still be.
        """
        end = self._clock.now() + within
        while True:
            hold = self._hold(self.whole(lock, within=end - self._clock.now()), token, acquisition)
            if hold is None:
                return False
            stamp = Stamp(f"{secrets.token_hex(16)}-0", secrets.token_hex(16), self._clock.wall())
            release = drafts.release(hold, stamp, successor="")
            result = to_result(self._settle(to_txn(lock, release), end - self._clock.now()))
            if isinstance(result, Failed):
                raise result.error
            if result.succeeded or (result.view is not None and result.view.term.value == release.released.encode()):
                return True
            # A renewal came in between, on its way since before: the release is made anew on that.

    def _hold(self, view: View, token: int, acquisition: str) -> Hold | None:
        """What this token and acquisition hold of the lock; None when their term is over."""
        standing = Standing.of(view.term, view.revision)
        standing.judge(token)
        value = TermValue.parse(view.term.value) if view.term.value is not None else None
        if standing.token != token or value is None:
            return None
        if not hmac.compare_digest(value.acquisition.encode(errors="replace"), acquisition.encode(errors="replace")):
            raise Refusal(
                grpc.StatusCode.PERMISSION_DENIED,
                f"acquisition is not that of the term with fencing_token {token}: give the one that `leading` told",
            )
        now = self._clock.now()
        observed = Observed().with_lease(view.lease, now) or Observed()
        observed = observed.with_term(view.term) or observed
        return drafts.take_up(Claim(Token(token), value), observed.with_history(view), now)

    def _settle(self, txn: Txn, within: float) -> TxnReply:
        if within <= 0:
            raise Unavailable("no time left to ask etcd", code=TIMED_OUT)
        return settle(
            self._gateway, txn, clock=self._clock, stop=self._stop, attempt=ATTEMPT, within=max(within, SHORTEST)
        )
