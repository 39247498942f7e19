"""What a fault asks of the links of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chaos.proxy.counters import Counters, Dropped
    from chaos.proxy.link import Link
    from chaos.proxy.rule import Rule


class Held(Protocol):
    """Rules in force. They end with `release`, or with the process that asked for them, however it ends."""

    def release(self) -> None:
        """Lift the rules, and return once that is done. Idempotent.

        Raises:
            LinksGone: The proxy has ended, and its links with it.
        """
        ...

    def used(self) -> int:
        """How many connections, calls or replies of `first` or `drop_reply` have been dealt with."""
        ...

    def dropped(self) -> Sequence[Dropped]:
        """The replies swallowed so far, in order."""
        ...


class Links(Protocol):
    """The links of a cluster. Every method raises LinksGone when the proxy can't be asked."""

    def all(self) -> Sequence[Link]:
        """Every link there is, in order.

        Each replica and each `lockd` has one to each etcd member; each replica, and `stranger`, one to the presence of
        each other replica.
        """
        ...

    def hold(self, rules: Mapping[Link, Rule]) -> Held:
        """Put rules in force, and return once they are.

        Of two holds on one link the newer one counts, until it is released.

        Raises:
            KeyError: There is no such link.
        """
        ...

    def counters(self, link: Link) -> Counters:
        """What was done on a link.

        Raises:
            KeyError: There is no such link.
        """
        ...

    def endpoint(self, link: Link) -> str:
        """Where the source dials, `host:port`: to see with one's own eyes that it is refused, for instance.

        Raises:
            KeyError: There is no such link.
        """
        ...
