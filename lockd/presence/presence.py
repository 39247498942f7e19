"""A replica's presence: it tells standbys that it is there, and watches, as a standby, whether the leader is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry import metrics

from component import logs, tracing
from lockd.presence.dialer import Dialer, Target
from lockd.presence.server import PresenceServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from component.clock import Clock
    from component.lifecycle import Group
    from lockd.election import Election
    from lockd.presence.config import PresenceConfig
    from lockd.presence.dialer import Finding

GOODBYE = 0.2
"""Seconds that saying goodbye may take."""

_log = logs.get("lockd.presence")


def whom_to_watch(election: Election) -> Target | None:
    """The leader that this standby dials: never itself, nor one that is not to be replaced early."""
    record = election.observed.record
    if record is None or election.hold is not None or election.stopped is not None or not record.fenced:
        return None
    if not record.holder_identity or record.holder_identity == election.config.identity or not record.presence_address:
        return None
    return Target(record.holder_identity, record.presence_address, record.traceparent)


class Presence:
    """Both sides, and what is told of them.

    Args:
        accuse: Given the identity of a leader whose process is gone; must return at once.

    Raises:
        ValueError: The certificates can't be used.
    """

    def __init__(self, identity: str, config: PresenceConfig, accuse: Callable[[str], None], *, clock: Clock) -> None:
        self.address = ""
        self._identity = identity
        self._accuse = accuse
        self._clock = clock
        self._server = PresenceServer(identity, config, clock=clock)
        self._dialer = Dialer(self._found, tls=config.tls.client() if config.tls is not None else None, clock=clock)
        self._findings = metrics.get_meter("lockd").create_counter(
            "lockd_presence_findings",
            description="Connections that a leader's end broke off, by what came of it: gone or withdrawn.",
        )
        for outcome in ("gone", "withdrawn"):
            self._findings.add(0, {"outcome": outcome})

    @property
    def watches(self) -> str:
        """The identity of the leader that there is a connection to; "" for none."""
        connected = self._dialer.connected
        return connected.identity if connected is not None else ""

    def listen(self) -> str:
        """Take the port; the address for record and candidate key.

        Raises:
            CannotListen: As when the port is in use.
        """
        self.address = self._server.listen()
        return self.address

    def start(self, group: Group) -> None:
        """Serve and dial, until the group ends."""
        group.spawn("presence", self._server.run, group.stop)
        group.spawn("presence dialer", self._dialer.run, group.stop)

    def step(self, election: Election) -> None:
        """Follow what the election has seen; returns at once."""
        self._dialer.follow(whom_to_watch(election))

    def say_goodbye(self) -> None:
        """What becomes of this process is no evidence any more: its release is settled, or was withheld on purpose."""
        self._server.say_goodbye(within=GOODBYE)

    def end(self) -> None:
        """Dial nobody any more. What others have dialled stays open: the end of the process closes it."""
        self._dialer.end()
        self._server.wake()

    def close(self) -> None:
        """End all connections without a word, as the kernel does with a process: for a replica that is none."""
        self._server.close()
        self._dialer.close()

    def _found(self, finding: Finding) -> None:
        if finding.gone:
            self._accuse(finding.identity)
        outcome = "gone" if finding.gone else "withdrawn"
        self._findings.add(1, {"outcome": outcome})
        event = "leader's process is gone" if finding.gone else "connection to the leader broke, but it is there"
        _log.info(event, leader=finding.identity, connection=finding.end.value)
        offset = self._clock.wall() - self._clock.now()
        tracing.emit(
            "leader_election.evidence",
            start=finding.began + offset,
            end=finding.ended + offset,
            links=[(finding.traceparent, {"link.kind": "leadership_term"})] if finding.traceparent else [],
            attributes={
                "identity": self._identity,
                "holder": finding.identity,
                "connection": finding.end.value,
                "outcome": outcome,
            },
        )
