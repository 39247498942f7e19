"""What is done to a link."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from lockd.errors import ConfigError


class Mode(StrEnum):
    """What happens to connections."""

    PASS = "pass"  # noqa: S105 - no password
    REFUSE = "refuse"
    """Nobody listens: present connections are reset, new ones refused."""
    BLACK_HOLE = "black-hole"
    """What is said arrives nowhere and nobody is told; what was held back arrives once the rule is lifted."""
    RESET = "reset"
    """Present connections are reset, and each new one as soon as it is made: or what `unit` says."""


class Direction(StrEnum):
    """Which way, seen from whoever dials."""

    BOTH = "both"
    TO = "to"
    """What the source says: requests."""
    FROM = "from"
    """What the destination says: replies."""


class Unit(StrEnum):
    """What is failed."""

    CONNECTIONS = "connections"
    PRESENT = "present"
    """The connections that there are when the rule begins, and none later: as a middlebox does that forgot its own."""
    CALLS = "calls"
    """gRPC calls to etcd: the connection is reset when one begins, before anything of it is passed on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DropReply:
    """Pass a transaction on to etcd, and swallow its reply if it says that it was committed.

    What else was on its way to the source on that connection is lost with it; then the connection is reset.

    Attributes:
        times: How many replies, over all links of one hold together.
        containing: Only of transactions whose request holds these characters, such as a key; "" for any.
        refused: Also replies that say that it was not committed, since its compares did not hold.
        silent: The connection stays open, and nothing is heard on it any more, in place of the reset.
    """

    times: int = 1
    containing: str = ""
    refused: bool = False
    silent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What is done to a link. The default passes everything on.

    Attributes:
        direction: Of `black-hole` and of `latency`.
        latency: Seconds that what is said takes longer, each way that `direction` names.
        jitter: Seconds by which that is longer or shorter, drawn for each piece; order is kept.
        seed: Draws the jitter: the same seed draws the same for a link.
        first: Fail so many connections or calls (`refuse` and `reset`), over all links of one hold together, then
            pass; 0 for all of them.
        unit: What `reset` fails.
        drop_reply: Which transactions' replies are swallowed.

    Raises:
        ConfigError: With every problem.
    """

    mode: Mode = Mode.PASS
    direction: Direction = Direction.BOTH
    latency: float = 0.0
    jitter: float = 0.0
    seed: int = 0
    first: int = 0
    unit: Unit = Unit.CONNECTIONS
    drop_reply: DropReply | None = None

    def __post_init__(self) -> None:
        failing = self.mode in (Mode.REFUSE, Mode.RESET)
        rules = (
            (self.latency >= 0, "latency must not be negative"),
            (0 <= self.jitter <= self.latency, "jitter must be between 0 and latency"),
            (self.first >= 0, "first must not be negative"),
            (not self.first or failing, "first goes with refuse or reset"),
            (
                self.unit is Unit.CONNECTIONS or self.mode is Mode.RESET,
                "calls, and present connections alone, are failed by reset",
            ),
            (not self.first or self.unit is not Unit.PRESENT, "first goes with new connections or calls"),
            (
                self.direction is Direction.BOTH or self.mode is Mode.BLACK_HOLE or self.latency > 0,
                "a direction goes with black-hole or latency",
            ),
            (self.drop_reply is None or self.drop_reply.times > 0, "drop_reply must be of one reply at least"),
            (self.drop_reply is None or self.mode is Mode.PASS, "drop_reply goes with pass"),
        )
        if problems := tuple(text for holds, text in rules if not holds):
            raise ConfigError(problems)

    def document(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def parse(cls, document: dict[str, Any]) -> Rule:
        """The rule that a document tells.

        Raises:
            KeyError, TypeError, ValueError, ConfigError: It isn't one.
        """
        drop = document.get("drop_reply")
        return cls(
            **{
                **document,
                "mode": Mode(document.get("mode", Mode.PASS)),
                "direction": Direction(document.get("direction", Direction.BOTH)),
                "unit": Unit(document.get("unit", Unit.CONNECTIONS)),
                "drop_reply": DropReply(**drop) if drop is not None else None,
            }
        )


PASS: Final = Rule()
"""Everything is passed on."""
