"""Binds as values: what is written, how many go into one transaction, and what its reply says of each."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

import msgspec

from lockd.fencing import GuardedWrite, ObjectWrite, operations
from lockd.ports import KeyValue
from replica.api.codec import Undecodable, decode_pod
from replica.api.pods import Pod

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Sequence

    from lockd.fencing import Guard, GuardedReply

MOST_PODS: Final = 120
"""Pods in one transaction: etcd allows 128 operations, a nested one's counted on top of the outer ones."""

MOST_BYTES: Final = 1 << 20
"""Bytes of keys and values in one transaction; etcd takes 1.5 MiB with all that is around them."""

OPERATIONS: Final = 128

_OVERHEAD: Final = 64
"""Bytes that a pod's compare, put and gets take beside keys and value."""


class Fate(Enum):
    """What became of a bind."""

    BOUND = "bound"
    """It is committed, by this copy of the transaction or an earlier one."""
    CONFLICT = "conflict"
    """The pod was changed, deleted or bound by somebody else; this bind does not stand and never will."""
    TOO_LARGE = "too large"
    """etcd takes no transaction of this size: it was not made."""
    FENCED = "fenced"
    """The term is over and the bind was not made, nor ever will be."""
    UNSETTLED = "unsettled"
    """It was sent and nobody knows whether it was or will be committed: the watch must tell."""
    NOT_SENT = "not sent"
    """The end came before it was sent."""


class Binding(msgspec.Struct, frozen=True, gc=False):
    """One pod to bind.

    Attributes:
        pod: As it was scheduled; its uid and `node` decide whether the bind stands.
        write: Puts the pod with its node, if it is still at the revision that was scheduled.
    """

    pod: Pod
    node: str
    write: ObjectWrite

    def stands_in(self, found: KeyValue | None) -> bool:
        """Is this the pod, on the node? Then the bind was committed, whatever else has changed since."""
        if found is None:
            return False
        try:
            pod = decode_pod(found)
        except Undecodable:
            return False
        return pod.uid == self.pod.uid and pod.node == self.node


Group = tuple[Binding, ...]
"""Pods bound together or not at all: one, or a gang."""


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """What became of one bind.

    Attributes:
        revision: Of the reply that says so: a cache that has passed it has seen what the bind did. 0: no reply.
        found: The pod as it stood then, when the bind isn't what the reply wrote.
        reason: For people.
    """

    binding: Binding
    fate: Fate
    revision: int = 0
    found: KeyValue | None = None
    reason: str = ""

    @property
    def stands(self) -> bool:
        return self.fate is Fate.BOUND


class Batch:
    """Groups that go out in one guarded transaction, the same each time it is sent."""

    __slots__ = ("groups", "txn", "write")

    def __init__(self, guard: Guard, groups: tuple[Group, ...]) -> None:
        self.groups = groups
        self.write = GuardedWrite(guard, tuple([tuple([each.write for each in group]) for group in groups]))
        self.txn = self.write.txn()

    @classmethod
    def take(cls, guard: Guard, pending: deque[Group], *, most: int = MOST_PODS, most_bytes: int = MOST_BYTES) -> Batch:
        """Take as many groups from the front of `pending` as fit, at least one."""
        taken = [pending.popleft()]
        pods, size, largest = len(taken[0]), group_bytes(taken[0]), len(taken[0])
        while pending:
            group = pending[0]
            pods += len(group)
            size += group_bytes(group)
            largest = max(largest, len(group))
            if pods > most or size > most_bytes or operations(pods, len(taken) + 1, largest) > OPERATIONS:
                break
            taken.append(pending.popleft())
        return cls(guard, tuple(taken))

    def __len__(self) -> int:
        return sum(map(len, self.groups))

    @property
    def size(self) -> int:
        """About how many bytes it has."""
        return sum(map(group_bytes, self.groups))

    def verdicts(self, reply: GuardedReply) -> list[Verdict]:
        """What an applied reply to any copy says of each bind."""
        found: list[Verdict] = []
        otherwise = Fate.FENCED if reply.fenced else Fate.CONFLICT
        for group, result in zip(self.groups, reply.results, strict=True):
            if result.applied:
                found += [Verdict(each, Fate.BOUND, reply.revision) for each in group]
                continue
            for each, stored in zip(group, result.objects, strict=True):
                fate = Fate.BOUND if each.stands_in(stored) else otherwise
                found.append(Verdict(each, fate, reply.revision, stored))
        return found

    def all(self, fate: Fate, reason: str = "") -> list[Verdict]:
        """The same verdict for every bind."""
        return [Verdict(each, fate, reason=reason) for group in self.groups for each in group]


def group_bytes(group: Group) -> int:
    """About what a group adds to a transaction's size."""
    size = _OVERHEAD * len(group)
    for each in group:
        write = each.write
        size += len(write.value or b"") + 3 * len(write.key)
    return size


def parcels(bindings: Sequence[Binding], *, most: int = MOST_PODS, most_bytes: int = MOST_BYTES) -> list[Group]:
    """A gang's binds in as few groups as transactions allow, in order: one, unless it is too large for that."""
    found: list[Group] = []
    group: list[Binding] = []
    size = 0
    for binding in bindings:
        more = group_bytes((binding,))
        if group and (len(group) == most or size + more > most_bytes):
            found.append(tuple(group))
            group, size = [], 0
        group.append(binding)
        size += more
    return [*found, tuple(group)]
