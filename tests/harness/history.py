"""Histories made by hand, one transaction a call, as a cluster would leave them in etcd."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import TYPE_CHECKING

from chaos.history import Change, History, state
from lockd.record import HistoryEntry, LeaderRecord, TermValue, encode_history
from replica.api.codec import encode, marked
from replica.api.status import scheduled, unschedulable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LOCK = "kube-system/kube-scheduler"
WHEN = "2026-01-01T00:00:00Z"
ENDS = "2026-01-01T00:00:30Z"


class HistoryMaker:
    """Keeps etcd's revision and adds changes to it. Each method is a transaction and returns its revision.

    Attributes:
        revision: etcd's.
    """

    def __init__(self) -> None:
        self.revision = 1
        self._changes: list[Change] = []
        self._created: dict[str, int] = {}
        self._token = 0
        self._serial = itertools.count(1)

    def transact(self, **keys: bytes | None) -> int:
        """Put (or with None delete) keys, all at the next revision."""
        return self.commit(keys)

    def commit(self, keys: dict[str, bytes | None]) -> int:
        self.revision += 1
        for key, value in keys.items():
            created = self._created.pop(key, self.revision)
            if value is not None:
                self._created[key] = created
            self._changes.append(Change(key, self.revision, value, created))
        return self.revision

    def history(self, *, compacted: int = 0) -> History:
        """All of it, or from the revision on at which a compaction cut it off."""
        return History(
            prefix="/lockd",
            from_revision=compacted or 1,
            to_revision=self.revision,
            baseline=tuple(state(change for change in self._changes if change.revision <= compacted).values()),
            changes=tuple(change for change in self._changes if change.revision > compacted),
        )

    # --- the lock ---

    def lease(self, holder: str, **fields: object) -> bytes:
        record = LeaderRecord(holder_identity=holder, lease_duration=3.0 if holder else 1.0)
        return replace(record, renewal=f"renewal-{next(self._serial)}", **fields).encode()

    def term(self, holder: str) -> bytes:
        return TermValue(holder, f"acquisition-{next(self._serial)}").encode()

    def acquire(self, identity: str, *, lock: str = LOCK) -> int:
        """Begin a term; the revision is its token."""
        self._token = self.commit(
            {
                f"leases/{lock}": self.lease(identity),
                f"terms/{lock}": self.term(identity),
                f"history/{lock}": encode_history((HistoryEntry(identity=identity),)),
            }
        )
        return self._token

    def renew(self, identity: str, *, lock: str = LOCK) -> int:
        return self.commit({f"leases/{lock}": self.lease(identity)})

    def release(self, *, lock: str = LOCK, token: int | None = None) -> int:
        """End a term in good order, with its last event."""
        token = self._token if token is None else token
        return self.commit(
            {
                f"leases/{lock}": self.lease(""),
                f"terms/{lock}": self.term(""),
                f"history/{lock}": encode_history(()),
                f"events/kube-system/{token}-{next(self._serial)}": event(token),
            }
        )

    # --- objects ---

    def node(self, name: str, *, cpu: str = "4", pods: str = "110", token: int = 0) -> int:
        return self.commit({f"nodes/{name}": node(name, cpu=cpu, pods=pods, token=token)})

    def pod(self, name: str, *, cpu: str = "1", token: int = 0, **more: object) -> int:
        return self.commit({f"pods/default/{name}": pod(name, cpu=cpu, token=token, **more)})

    def bind(self, name: str, node: str, *, cpu: str = "1", token: int | None = None) -> int:
        """The pod on a node, put by the newest term unless told otherwise."""
        token = self._token if token is None else token
        return self.commit({f"pods/default/{name}": pod(name, cpu=cpu, token=token, node=node)})

    def preempt(self, name: str, *victims: str, node: str, priority: int = 10, **of: object) -> int:
        """The newest term promises a node to a pod and marks victims there."""
        changes = {
            f"pods/default/{name}": pod(
                name, token=self._token, priority=priority, refused="0/1 nodes are available", nominated=node
            )
        }
        for victim in victims:
            changes[f"pods/default/{victim}"] = pod(victim, token=self._token, node=node, ends=ENDS, **of)
        return self.commit(changes)

    def delete(self, key: str, *, by: int = 0, uid: str = "", at: str = "") -> int:
        """A user's deletion, or with `by` a leader's, whose event names the uid and the time `at`."""
        changes: dict[str, bytes | None] = {key: None}
        if by:
            changes[f"events/default/{by}-{next(self._serial)}"] = event(by, uid=uid, at=at)
        return self.commit(changes)


def pod(
    name: str,
    *,
    cpu: str = "1",
    token: int = 0,
    node: str = "",
    gate: str = "",
    refused: str = "",
    phase: str = "",
    uid: str = "",
    scheduler: str = "",
    deleted: str = "",
    priority: int = 0,
    grace: int = 30,
    nominated: str = "",
    ends: str = "",
    owner: str = "",
    spread: Sequence[Mapping[str, object]] = (),
) -> bytes:
    """A stored pod.

    Args:
        refused: The message of a PodScheduled=False condition.
        nominated: The node that preemption promised it.
        ends: The end of its grace period, since preemption marked it.
        owner: The ReplicaSet that controls it.
        spread: Its topology spread constraints.
    """
    spec: dict[str, object] = {"containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]}
    spec["priority"], spec["terminationGracePeriodSeconds"] = priority, grace
    if scheduler:
        spec["schedulerName"] = scheduler
    if gate:
        spec["schedulingGates"] = [{"name": gate}]
    if spread:
        spec["topologySpreadConstraints"] = list(spread)
    controlling = [{"kind": "ReplicaSet", "name": owner, "uid": f"uid-{owner}", "controller": True}] if owner else []
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "uid": uid or f"uid-{name}",
            **({"deletionTimestamp": deleted} if deleted else {}),
            **({"ownerReferences": controlling} if controlling else {}),
        },
        "spec": spec,
        **({"status": {"phase": phase}} if phase else {}),
    }
    status = scheduled(WHEN) if node else unschedulable(refused, at=WHEN, nominated=nominated) if refused else None
    value = encode(
        json.dumps(manifest).encode(), token=token, node=node, status=status.encode() if status is not None else b""
    )
    return marked(value, token, scheduler="s", at=WHEN, ends=ends, grace=grace) if ends else value


def node(name: str, *, cpu: str = "4", pods: str = "110", token: int = 0) -> bytes:
    """A stored node."""
    manifest = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "status": {"allocatable": {"cpu": cpu, "pods": pods}},
    }
    return encode(json.dumps(manifest).encode(), token=token)


def event(token: int, *, uid: str = "", controller: str = "", at: str = "") -> bytes:
    """A stored event about the object with that uid."""
    manifest = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "event"},
        "eventTime": at,
        "regarding": {"kind": "Pod", "uid": uid},
        "reportingController": controller,
    }
    return encode(json.dumps(manifest).encode(), token=token)
