"""A violation: what was wrong, where in the history."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from chaos.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One thing that must not happen, and did.

    Attributes:
        check: The name of the rule, such as `stale-token`.
        revision: Where it happened.
        key: What it happened to, without the prefix.
        token: The token that the write carried; 0: a user's, or none.
        term_token: The token in force before that revision; 0: none was.
        message: One line for people.
    """

    check: str
    revision: int
    key: str
    token: int
    term_token: int
    message: str


Check = Callable[[Ledger], Iterable[Violation]]
