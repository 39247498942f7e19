"""A violation: what was wrong, where in the history or when, and the smallest evidence that shows it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One thing that must not happen, and did.

    Attributes:
        check: The name of the rule, such as `stale-token`.
        message: One line for people that holds the evidence, or sums it up.
        revision: Where it happened; 0: in no revision of etcd's.
        key: What it happened to, without the prefix; "": to no key.
        token: The token that the write carried; 0: a user's, or none.
        term_token: The token in force before that revision; 0: none was.
        identity: Whose fault it is, where it is one process's.
        at: When, in seconds on the tool's CLOCK_BOOTTIME; None: only the order of revisions tells.
        evidence: The fewest facts that show it, one a line, in order; empty where the message is all of them.
    """

    check: str
    message: str
    revision: int = 0
    key: str = ""
    token: int = 0
    term_token: int = 0
    identity: str = ""
    at: float | None = None
    evidence: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[int, float, str, str]:
        """By what violations are put in order."""
        return (self.revision, self.at or 0.0, self.key or self.identity, self.check)
