"""Events in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from component import logs
from replica.api.events import WARNING

if TYPE_CHECKING:
    import threading

    from replica.api.events import Event
    from replica.events.broadcaster import Subscription

_log = logs.get(__name__)


def loud(event: Event) -> bool:
    """A warning, or what concerns the leader."""
    return event.type == WARNING or event.reason == "LeaderElection"


class EventLog:
    """Logs each event: warnings and what concerns the leader as INFO, the many others as DEBUG."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription

    def run(self, stop: threading.Event) -> None:
        """Until stopped, or closed and all is logged."""
        while not stop.is_set() and not self._subscription.closed:
            for event in self._subscription.take(100, stop, 1.0):
                self.log(event)

    @staticmethod
    def wants(event: Event) -> bool:
        """Would anybody see it? There are thousands of others a second."""
        return loud(event) or _log.debugs

    def log(self, event: Event) -> None:
        say = _log.info if loud(event) else _log.debug
        regarding = event.regarding
        say(
            "event",
            reason=event.reason,
            type=event.type,
            kind=regarding.kind,
            object=f"{regarding.namespace}/{regarding.name}" if regarding.namespace else regarding.name,
            note=event.note,
        )
