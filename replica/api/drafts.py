"""A user's manifest on its way into etcd, and a stored object on its way back to its user.

Each fact is stored once: the node and what the scheduler says live in the envelope, everything else in the manifest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lockd.errors import LockdError
from replica.api.bound_pods import forbidden_changes
from replica.api.codec import Undecodable, encode, parse_envelope
from replica.api.kinds import DISRUPTION_BUDGET, POD
from replica.api.status import DISRUPTION_TARGET, POD_SCHEDULED, PREEMPTED

if TYPE_CHECKING:
    from lockd.ports import KeyValue
    from replica.api.kinds import Kind
    from replica.api.priority import Classes


_SETTLED: Final = ("priority", "priorityClassName", "preemptionPolicy")
_WORKED_OUT: Final = frozenset(
    {"fencingToken", "currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"}
)
"""What tools here work out whenever somebody looks at a budget, so that what is stored would only be old."""

_DELETION: Final = ("deletionTimestamp", "deletionGracePeriodSeconds")


class Conflict(LockdError):
    """An object in etcd is not the one that a manifest speaks of: a person must decide."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An object to store.

    Attributes:
        namespace: "" for kinds without.
        document: The manifest without what the envelope owns.
        node: The node that the user bound it to, or "".
        source: Where it was read: file and document, for messages.
    """

    kind: Kind
    namespace: str
    name: str
    document: dict[str, Any]
    node: str = ""
    source: str = ""

    @classmethod
    def of(cls, kind: Kind, document: dict[str, Any], *, namespace: str = "", source: str = "") -> Draft:
        """A draft of a manifest without problems.

        Args:
            namespace: Used for a kind that has namespaces when the manifest names none.
        """
        metadata = dict(document["metadata"])
        if kind.namespaced:
            metadata["namespace"] = metadata.get("namespace") or namespace
        draft = {**document, "metadata": metadata}
        node = ""
        if kind is POD:
            spec = dict(document["spec"])
            node = spec.pop("nodeName", None) or ""
            draft["spec"] = spec
        _drop_owned_status(kind, draft)
        return cls(
            kind, metadata.get("namespace", "") if kind.namespaced else "", metadata["name"], draft, node, source
        )

    def prioritized(self, classes: Classes, seen: KeyValue | None) -> Draft:
        """A pod's draft with its priority settled: when it is created, and not again unless it names another class.

        Args:
            seen: What is stored under its name; None: nothing.

        Raises:
            NoSuchClass: It names a priority class that there isn't.
            OtherPriority: It gives another number than its class.
            Undecodable: What is stored is no object.
        """
        if self.kind is not POD:
            return self
        spec = self.document["spec"]
        if seen is not None:
            stored = _load(seen.key, parse_envelope(seen.key, seen.value).manifest).get("spec") or {}
            if spec.get("priorityClassName") in {None, "", stored.get("priorityClassName")}:
                kept = {name: stored[name] for name in _SETTLED if name in stored and not spec.get(name)}
                if spec.get("priority") in {None, stored.get("priority")}:
                    return replace(self, document={**self.document, "spec": {**spec, **kept}})
        return replace(self, document={**self.document, "spec": classes.resolved(spec)})

    def created(self, *, uid: str, at: str) -> bytes:
        """The value of a new object.

        Args:
            uid: Its uid, unless the manifest has one.
            at: RFC 3339: its time of creation, unless the manifest has one.
        """
        metadata = dict(self.document["metadata"])
        metadata["uid"] = metadata.get("uid") or uid
        metadata["creationTimestamp"] = metadata.get("creationTimestamp") or at
        return encode(msgspec.json.encode({**self.document, "metadata": metadata}), node=self.node)

    def updated(self, kv: KeyValue) -> bytes | None:
        """The value that replaces a stored object's manifest, or None when it says the same already.

        The node and what the scheduler said stay.

        Raises:
            Conflict: It is bound to another node, or has another uid, than the manifest says; or it is bound, and the
                manifest changes what its place was chosen by.
            Undecodable: What is stored is no object.
        """
        envelope = parse_envelope(kv.key, kv.value)
        stored = _load(kv.key, envelope.manifest)
        before = stored.get("metadata") or {}
        metadata = self.document["metadata"]
        uid, given = before.get("uid") or "", metadata.get("uid") or ""
        if uid and given and uid != given:
            raise Conflict(f"the manifest has the uid {given}, the object in etcd {uid}: delete one of them first")
        if self.node and envelope.node_name and self.node != envelope.node_name:
            raise Conflict(f"it is bound to {envelope.node_name}: a bound pod can't move to {self.node}")
        if self.kind is POD and envelope.node_name:
            _keep_place(envelope.node_name, stored.get("spec") or {}, self.document["spec"])
        at = before.get("creationTimestamp") or metadata.get("creationTimestamp") or ""
        # Nobody takes a deletion back: who applies a pod again that is going doesn't either.
        going = {name: before[name] for name in _DELETION if before.get(name) is not None}
        document = {**self.document, "metadata": {**metadata, "uid": uid or given, "creationTimestamp": at, **going}}
        node = envelope.node_name or self.node
        if node == envelope.node_name and _comparable(document) == _comparable(stored):
            return None
        return encode(msgspec.json.encode(document), node=node, status=envelope.status)


def _keep_place(node: str, before: dict[str, Any], after: dict[str, Any]) -> None:
    found = forbidden_changes(before, after)
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise Conflict(f"it is bound to {node}: {found[0]}{more}: delete the pod first, or leave that as it is")


def to_manifest(kind: Kind, kv: KeyValue) -> dict[str, Any]:
    """A stored object as its user sees it: the manifest, the node, the scheduler's status, and `status.fencingToken`.

    Raises:
        Undecodable: The value is no object.
    """
    envelope = parse_envelope(kv.key, kv.value)
    document = _load(kv.key, envelope.manifest)
    if envelope.node_name and kind is POD:
        document["spec"] = {**(document.get("spec") or {}), "nodeName": envelope.node_name}
    status = dict(document.get("status") or {})
    said = _load(kv.key, envelope.status) if envelope.status else {}
    conditions = [*(status.get("conditions") or []), *said.pop("conditions", [])]
    if conditions:
        status["conditions"] = conditions
    document["status"] = {**status, **said, "fencingToken": envelope.fencing_token}
    return document


def _drop_owned_status(kind: Kind, document: dict[str, Any]) -> None:
    """Remove from `status` what `to_manifest` puts there, so that what was read can be applied again."""
    before = document.get("status")
    if not isinstance(before, dict):
        return
    owned = _WORKED_OUT if kind is DISRUPTION_BUDGET else frozenset({"fencingToken"})
    status = {name: value for name, value in before.items() if name not in owned}
    if kind is POD:
        status.pop("nominatedNodeName", None)
        conditions = status.get("conditions")
        if isinstance(conditions, list):
            kept = [each for each in conditions if not _is_schedulers(each)]
            status["conditions"] = kept
            if conditions and not kept:
                del status["conditions"]
    document["status"] = status
    if before and not status:
        del document["status"]


def _is_schedulers(condition: Any) -> bool:
    if not isinstance(condition, dict):
        return False
    kind, reason = condition.get("type"), condition.get("reason")
    return kind == POD_SCHEDULED or (kind, reason) == (DISRUPTION_TARGET, PREEMPTED)


def _comparable(document: dict[str, Any]) -> bytes:
    shown = {name: value for name, value in document.items() if name != "status" or value}
    return msgspec.json.encode(shown, order="sorted")


def _load(key: str, raw: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise Undecodable(key, f"its manifest can't be read: {error}") from error
