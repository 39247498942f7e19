"""The recorder: turns what happened into events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lockd.record import display_time
from replica.api.events import NORMAL, Event, Reference
from replica.api.objects import Object

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from component.clock import Clock
    from lockd.ports import LockName

DEFAULT_NAMESPACE: Final = "default"
"""Where events about objects without a namespace stand."""


def reference(obj: Object) -> Reference:
    """How an event names an object."""
    return Reference(
        kind=obj.KIND.kind,
        namespace=obj.namespace,
        name=obj.name,
        uid=obj.uid,
        api_version=obj.KIND.versions[0],
        resource_version=str(obj.mod_revision) if obj.mod_revision else "",
    )


class Recorder:
    """Makes events in the name of one controller and publishes them; never blocks, never raises.

    Args:
        publish: The broadcaster's: takes any number of events.
        controller: Who reports, such as `default-scheduler`.
        instance: This process: its holder identity.
    """

    def __init__(self, publish: Callable[..., None], *, controller: str, instance: str, clock: Clock) -> None:
        self._publish = publish
        self._controller = controller
        self._instance = instance
        self._clock = clock

    def event(
        self,
        regarding: Object | Reference,
        *,
        reason: str,
        note: str,
        action: str,
        type: str = NORMAL,  # noqa: A002 - the field's name in every manifest of an event
        related: Object | Reference | None = None,
        controller: str = "",
    ) -> Event:
        """Record that something happened now.

        Args:
            regarding: The object it is about.
            reason: One word for machines, such as `FailedScheduling`.
            note: A sentence for people.
            action: What was being done, such as `Binding`.
            type: `Normal` or `Warning`.
            related: A second object that it is about, such as a pod's node.
            controller: Who reports, if it is another than usual: the pod's profile.

        Returns:
            The event as published, which has no name yet.
        """
        event = self.make(
            regarding, reason=reason, note=note, action=action, type=type, related=related, controller=controller
        )
        self._publish(event)
        return event

    def make(
        self,
        regarding: Object | Reference,
        *,
        reason: str,
        note: str,
        action: str,
        type: str = NORMAL,  # noqa: A002 - the field's name in every manifest of an event
        related: Object | Reference | None = None,
        controller: str = "",
        moment: str = "",
    ) -> Event:
        """The same event without publishing it, for one that rides in a transaction.

        Args:
            moment: When it happened, RFC 3339: several things may have at once; "" for now.
        """
        subject = reference(regarding) if isinstance(regarding, Object) else regarding
        now = moment or self.moment()
        return Event(
            name="",
            namespace=subject.namespace or DEFAULT_NAMESPACE,
            created=now,
            time=now,
            regarding=subject,
            related=reference(related) if isinstance(related, Object) else related,
            reason=reason,
            note=note,
            type=type,
            action=action,
            controller=controller or self._controller,
            instance=self._instance,
        )

    def moment(self) -> str:
        """Now, as events have it."""
        return display_time(self._clock.wall())

    def publish(self, events: Sequence[Event]) -> None:
        """Publish events made before, all at once."""
        self._publish(*events)

    def became_leader(self, lock: LockName) -> Event:
        """The event whose write is a term's first."""
        return self._election(lock, "became leader")

    def stopped_leading(self, lock: LockName) -> Event:
        """The event that rides in the transaction that releases a term."""
        return self._election(lock, "stopped leading")

    def _election(self, lock: LockName, what: str) -> Event:
        regarding = Reference(
            kind="Lease", namespace=lock.namespace, name=lock.name, api_version="coordination.k8s.io/v1"
        )
        return self.make(regarding, reason="LeaderElection", note=f"{self._instance} {what}", action="LeaderElection")
