"""Which rule is in force on each link, and what is left of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chaos.proxy.counters import Dropped
from chaos.proxy.rule import PASS, Mode, Rule, Unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chaos.proxy.link import Link
    from chaos.proxy.rule import DropReply


@dataclass(eq=False, slots=True)
class Hold:
    """Rules that were set together.

    Attributes:
        used: Connections, calls or replies dealt with, of those that are counted.
    """

    rules: Mapping[Link, Rule]
    used: int = 0
    dropped: list[Dropped] = field(default_factory=list)

    def rule(self, link: Link) -> Rule:
        """What is left of the rule of one of its links."""
        rule = self.rules[link]
        most = rule.drop_reply.times if rule.drop_reply is not None else rule.first
        return PASS if most and self.used >= most else rule


class Rulebook:
    """The holds, oldest first. Of two on one link the newer one counts."""

    def __init__(self) -> None:
        self._holds: list[Hold] = []

    def set(self, rules: Mapping[Link, Rule]) -> Hold:
        """Put rules in force."""
        hold = Hold(dict(rules))
        self._holds.append(hold)
        return hold

    def lift(self, hold: Hold) -> None:
        """Take them back; what they covered is in force again."""
        if hold in self._holds:
            self._holds.remove(hold)

    def holding(self, link: Link) -> Hold | None:
        """The newest hold on a link."""
        return next((hold for hold in reversed(self._holds) if link in hold.rules), None)

    def rule(self, link: Link) -> Rule:
        """What is in force on a link now."""
        hold = self.holding(link)
        return hold.rule(link) if hold is not None else PASS

    def use(self, link: Link) -> None:
        """One connection or call of a counted rule was failed."""
        hold = self.holding(link)
        if hold is not None and hold.rules[link].first:
            hold.used += 1

    def fails_connections(self, link: Link) -> bool:
        """Is a connection that is made now to be failed?"""
        rule = self.rule(link)
        return rule.mode is Mode.REFUSE or (rule.mode is Mode.RESET and rule.unit is Unit.CONNECTIONS)

    def fails_calls(self, link: Link) -> bool:
        """Is a call that begins now to be failed?"""
        rule = self.rule(link)
        return rule.mode is Mode.RESET and rule.unit is Unit.CALLS

    def is_closed(self, link: Link) -> bool:
        """Does nobody listen? A refusal of the first few is told one by one, by a reset."""
        rule = self.rule(link)
        return rule.mode is Mode.REFUSE and not rule.first

    def drop(self, link: Link) -> DropReply | None:
        """The reply that is to be swallowed next."""
        return self.rule(link).drop_reply

    def dropped(self, link: Link, revision: int) -> None:
        """A reply of a link was swallowed."""
        hold = self.holding(link)
        if hold is not None:
            hold.used += 1
            hold.dropped.append(Dropped(link.source, link.destination, revision))
