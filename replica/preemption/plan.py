"""What is to be written for a preemption, by its pods as they stand in etcd."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from lockd.fencing import ObjectWrite
from lockd.record import display_time
from replica.api import codec, status
from replica.api.codec import Undecodable, decode_pod
from replica.api.times import format_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from component.clock import Clock
    from lockd.fencing import Token
    from lockd.ports import KeyValue, Put
    from replica.api.events import Event
    from replica.api.pods import Pod
    from replica.events.recorder import Recorder

PREEMPTED: Final = "Preempted"
"""The reason of the event that tells a pod why it goes."""

LARGEST: Final = 40
"""Victims in one transaction; a larger preemption is made in steps, the promise with the first."""

BYTES: Final = 1 << 20
"""What one transaction holds at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preemption:
    """Room to be made.

    Attributes:
        pod: For whom.
        node: Where.
        victims: Who goes.
        reason: Of the pod's condition.
        message: The same.
        attempts: Writes made in vain.
    """

    pod: Pod
    node: str
    victims: tuple[Pod, ...]
    reason: str
    message: str
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written for a preemption, by objects as they were read.

    Attributes:
        marked: The victims that this marks.
        spared: Those that it leaves alone for good.
        left: What remains to be done after it.
    """

    preemption: Preemption
    group: tuple[ObjectWrite, ...]
    marked: tuple[Pod, ...]
    spared: tuple[Pod, ...]
    left: Preemption | None

    @property
    def operations(self) -> int:
        return sum(len(write.branch()) for write in self.group)

    @property
    def size(self) -> int:
        """About how many bytes it has."""
        riders = (rider for write in self.group for rider in write.riders)
        return sum(len(write.value or b"") for write in self.group) + sum(len(rider.value) for rider in riders)


class Planner:
    """Makes plans for one term.

    Args:
        rider: The put of an event that goes with a deletion; may raise StoreError for want of an etcd lease.
        is_assumed: Is a pod (by uid) on its way to a node?
    """

    def __init__(
        self,
        *,
        token: Token,
        recorder: Recorder,
        rider: Callable[[Event], Put],
        is_assumed: Callable[[str], bool],
        clock: Clock,
    ) -> None:
        self._token = int(token)
        self._recorder = recorder
        self._rider = rider
        self._is_assumed = is_assumed
        self._clock = clock

    def plan(self, preemption: Preemption, objects: Mapping[str, KeyValue | None]) -> Plan | None:
        """What to write; None when there is nobody to make room for."""
        pod = preemption.pod
        stored = objects[pod.path]
        now = _decoded(stored, pod.uid)
        if stored is None or now is None or not now.pending or now.deleting:
            return None
        # The promise first: no pod goes before it stands.
        group = [] if now.nominated == preemption.node else [self._promise(preemption, stored)]
        marked: list[Pod] = []
        spared: list[Pod] = []
        later: list[Pod] = []
        size = 0
        for victim in preemption.victims:
            found = objects[victim.path]
            there = _decoded(found, victim.uid)
            if found is None or there is None or there.terminal or there.deleting:
                spared.append(victim)  # it goes already, or has gone
                continue
            if there.node != preemption.node:
                # If its bind is on its way, one of the two writes would be in vain.
                (later if not there.node and self._is_assumed(victim.uid) else spared).append(victim)
                continue
            size += len(found.value)
            if len(marked) == LARGEST or (marked and size > BYTES // 2):
                later.append(victim)
                continue
            group.append(self._eviction(preemption, there, found))
            marked.append(there)
        left = replace(preemption, victims=tuple(later)) if later else None
        if not group and left is None:
            group.append(self._promise(preemption, stored))
        return Plan(preemption, tuple(group), tuple(marked), tuple(spared), left)

    def _promise(self, preemption: Preemption, stored: KeyValue) -> ObjectWrite:
        told = codec.status_of(stored.value).scheduled
        since = told.last_transition_time if told is not None and told.status == "False" else ""
        said = status.unschedulable(
            preemption.message,
            at=since or display_time(self._clock.wall()),
            reason=preemption.reason,
            nominated=preemption.node,
        )
        return ObjectWrite(stored.key, stored.mod_revision, codec.with_status(stored.value, said, self._token))

    def _eviction(self, preemption: Preemption, there: Pod, stored: KeyValue) -> ObjectWrite:
        """A victim's mark, or, where it has no grace period, its deletion and the event that tells of it."""
        grace = math.ceil(there.spec.grace_period)
        if grace <= 0:
            rider = self._rider(self.told(preemption, there))
            return ObjectWrite(stored.key, stored.mod_revision, None, riders=(rider,))
        now = self._clock.wall()
        value = codec.marked(
            stored.value,
            self._token,
            scheduler=preemption.pod.spec.scheduler,
            at=display_time(now),
            ends=format_time(math.ceil(now) + grace),
            grace=grace,
        )
        return ObjectWrite(stored.key, stored.mod_revision, value)

    def told(self, preemption: Preemption, victim: Pod) -> Event:
        """The event that tells a victim's user why it goes."""
        return self._recorder.make(
            victim,
            reason=PREEMPTED,
            note=f"Preempted by pod {preemption.pod.uid} on node {preemption.node}",
            action="Preempting",
            related=preemption.pod,
            controller=preemption.pod.spec.scheduler,
        )


def _decoded(kv: KeyValue | None, uid: str) -> Pod | None:
    """The pod as stored, if it is still this one."""
    if kv is None:
        return None
    try:
        found = decode_pod(kv)
    except Undecodable:
        return None
    return found if found.uid == uid else None


def stands(group: Sequence[ObjectWrite], found: Sequence[KeyValue | None]) -> bool:
    """Was the group written by an earlier copy of the same transaction? It is all or nothing: one of it tells."""
    return any(kv is not None and kv.value == write.value for write, kv in zip(group, found, strict=True))
