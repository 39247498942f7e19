"""What a proxy has done: the proof that a rule took effect, and that it was undone."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

from chaos.proxy.rule import PASS, Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """One link, since the cluster began where nothing else is said.

    Attributes:
        rule: In force now.
        listening: Are new connections taken now? Not while they are refused.
        open: Connections now.
        accepted: Connections taken.
        refused: Connections that a `refuse` with `first` failed; where nobody listens, nobody counts.
        reset: Connections that a rule reset.
        calls: Calls that a rule failed.
        dropped: Replies that a rule swallowed.
        unreachable: Connections that the destination did not take.
        to_passed, from_passed: Bytes passed on, each way.
        to_held, from_held: Bytes that are held back now, each way.
    """

    rule: Rule = PASS
    listening: bool = True
    open: int = 0
    accepted: int = 0
    refused: int = 0
    reset: int = 0
    calls: int = 0
    dropped: int = 0
    unreachable: int = 0
    to_passed: int = 0
    from_passed: int = 0
    to_held: int = 0
    from_held: int = 0

    def document(self) -> dict[str, Any]:
        return {**{each.name: getattr(self, each.name) for each in fields(self)}, "rule": self.rule.document()}

    @classmethod
    def parse(cls, document: dict[str, Any]) -> Counters:
        """The counters that a document tells.

        Raises:
            KeyError, TypeError, ValueError: They are none.
        """
        return cls(**{**document, "rule": Rule.parse(document["rule"])})


@dataclass(frozen=True, slots=True)
class Dropped:
    """A reply that was swallowed: of a transaction that etcd had committed, unless refused ones were asked for.

    Attributes:
        source: Whose it was.
        destination: The member that sent it.
        revision: Of the transaction, as the reply told it: etcd's history has it.
    """

    source: str
    destination: str
    revision: int

    def document(self) -> dict[str, Any]:
        return asdict(self)
