"""Stored objects, cut down to what a judge of their history needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from lockd.ports import KeyValue
from replica.api.codec import Undecodable, decode, status_of
from replica.api.events import Event
from replica.api.groups import PodGroup
from replica.api.keys import parse_key
from replica.api.kinds import KINDS
from replica.api.nodes import Node
from replica.api.pods import Pod

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chaos.history import Change
    from replica.api.objects import Object
    from replica.api.podspec import PodSpec
    from replica.api.taints import Taint

OBJECT_KINDS: Final = frozenset(kind.plural for kind in KINDS)
"""First parts of the keys whose values name their author."""


class Unreadable(Exception):
    """The value is no stored object; the message says why, in one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """An object as one revision left it.

    Attributes:
        token: The fencing token of whoever wrote this revision; 0: a user's tool.
        node: A pod's, or "".
        requests: What a pod takes of its node, by resource.
        spec: What else a pod asks for.
        owner: What controls a pod, or "".
        group: The name of a pod's group, or "".
        least: How many pods of a group must run.
        size: A pod's, in bytes.
        message: Why a pod has no node, as a scheduler said.
        waiting: A pod with a scheduling gate, or with a condition PodScheduled=False.
        finished: A pod that has ended by itself.
        deleting: A pod that is marked for deletion.
        ends: RFC 3339: when a pod that preemption marked for deletion may be taken away, or "".
        nominated: The node that a pod was promised by preemption, or "".
        priority: A pod's, as its manifest says; None where a class of its decides.
        at: RFC 3339: when what an event tells of happened.
        scheduler: The name of the scheduler that a pod asks for, or that reports an event.
        allocatable: What a node has, by resource.
        labels: A node's, a pod's or a namespace's.
        taints: A node's, without the one that cordoning stands for.
        unschedulable: A node that is cordoned.
        concerns: The uids that an event names.
    """

    token: int
    uid: str = ""
    node: str = ""
    requests: Mapping[str, int] = field(default_factory=dict)
    spec: PodSpec | None = None
    owner: str = ""
    group: str = ""
    least: int = 0
    size: int = 0
    message: str = ""
    waiting: bool = False
    finished: bool = False
    deleting: bool = False
    ends: str = ""
    nominated: str = ""
    priority: int | None = 0
    at: str = ""
    scheduler: str = ""
    allocatable: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    concerns: frozenset[str] = frozenset()


def read(change: Change) -> Stored:
    """The object that a change put.

    Raises:
        Unreadable: The key or the value is no object's.
    """
    key = parse_key("", f"/{change.key}")
    if key is None or change.value is None:
        raise Unreadable("the key is no object's")
    try:
        stored = decode(key.kind, KeyValue(change.key, change.value, change.revision, change.created))
        return _digest(stored, change.value)
    except Undecodable as error:
        raise Unreadable(error.problem) from error


def _digest(stored: Object, value: bytes) -> Stored:
    match stored:
        case Pod():
            scheduled = status_of(value).scheduled
            refused = scheduled is not None and scheduled.status == "False"
            return Stored(
                token=stored.token,
                uid=stored.uid,
                labels=stored.labels,
                node=stored.node,
                requests=dict(stored.spec.requests),
                spec=stored.spec,
                owner=stored.owner,
                group=stored.group,
                size=len(value),
                message=scheduled.message if scheduled is not None and refused else "",
                waiting=bool(stored.spec.gates) or refused,
                finished=stored.terminal,
                deleting=stored.deleting,
                ends=stored.ends,
                nominated=stored.nominated,
                priority=stored.spec.priority if stored.spec.priority_class else stored.spec.priority or 0,
                scheduler=stored.spec.scheduler,
            )
        case Node():
            return Stored(
                token=stored.token,
                uid=stored.uid,
                allocatable=dict(stored.allocatable),
                labels=stored.labels,
                taints=stored.taints,
                unschedulable=stored.unschedulable,
            )
        case Event():
            named = (stored.regarding, stored.related)
            uids = frozenset(reference.uid for reference in named if reference is not None and reference.uid)
            return Stored(
                token=stored.token, uid=stored.uid, concerns=uids, at=stored.time, scheduler=stored.controller
            )
        case PodGroup():
            return Stored(token=stored.token, uid=stored.uid, least=max(1, stored.min_member))
        case _:
            return Stored(token=stored.token, uid=stored.uid, labels=stored.labels)
