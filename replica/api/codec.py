"""Between etcd's values and objects: envelopes, decoding, and the values that a leader's writes put.

A value is a protobuf envelope around the manifest's JSON. A bind or a status copies the manifest's bytes untouched.
"""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING, Any, Final

import msgspec
from google.protobuf.message import DecodeError

from lockd.errors import LockdError
from replica.api.events import Event, read_event
from replica.api.groups import (
    DisruptionBudget,
    Namespace,
    PodGroup,
    read_disruption_budget,
    read_namespace,
    read_pod_group,
)
from replica.api.kinds import DISRUPTION_BUDGET, EVENT, NAMESPACE, NODE, POD, POD_GROUP, PRIORITY_CLASS
from replica.api.labels import labels_from
from replica.api.nodes import Node, read_node
from replica.api.objects import Metadata
from replica.api.pods import Pod
from replica.api.podspec import spec_from
from replica.api.priority import PriorityClass, read_priority_class
from replica.api.quantities import QuantityError
from replica.api.selectors import SelectorError
from replica.api.status import encoded_scheduled, preempted, read_status
from replica.api.wire import Reader
from replica.v1.envelope_pb2 import Envelope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lockd.ports import KeyValue
    from replica.api.kinds import Kind
    from replica.api.objects import Object
    from replica.api.status import PodStatus


class Undecodable(LockdError):
    """A value that can't be read as an object.

    Attributes:
        key: Where it stands.
        problem: What is wrong with it, one line.
    """

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key}: {problem}")
        self.key = key
        self.problem = problem


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""


class _PodStatus(msgspec.Struct, gc=False, rename="camel"):
    phase: str = ""
    start_time: str = ""
    conditions: list[_Condition] = []


class _PodDocument(msgspec.Struct, gc=False):
    metadata: Metadata = msgspec.field(default_factory=Metadata)
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: _PodStatus = msgspec.field(default_factory=_PodStatus)


class _Named(msgspec.Struct, gc=False):
    metadata: Metadata = msgspec.field(default_factory=Metadata)


_POD: Final = Reader(_PodDocument)
_NAMED: Final = Reader(_Named)
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def encode(manifest: bytes, *, token: int = 0, node: str = "", status: bytes = b"") -> bytes:
    """A value to store.

    Args:
        manifest: The object as JSON.
        token: The writer's fencing token; 0 for a user's tool.
    """
    envelope = Envelope(fencing_token=token, manifest=manifest, node_name=node, status=status)
    return envelope.SerializeToString(deterministic=True)


def parse_envelope(key: str, value: bytes) -> Envelope:
    """The envelope in a value.

    Raises:
        Undecodable: It is none.
    """
    try:
        return Envelope.FromString(value)
    except DecodeError as error:
        raise Undecodable(key, "the value is no envelope of this scheduler") from error


def bound(value: bytes, node: str, token: int, *, at: str) -> bytes:
    """The value that binds a pod: its manifest untouched, the node, and the condition that says it is scheduled.

    Args:
        value: As stored, of a pod that was decoded from it.
        at: RFC 3339, for the condition.
    """
    envelope = Envelope.FromString(value)
    envelope.fencing_token = token
    envelope.node_name = node
    envelope.status = encoded_scheduled(at)
    return envelope.SerializeToString(deterministic=True)


def with_status(value: bytes, status: PodStatus, token: int) -> bytes:
    """The value with the scheduler's status of a pod replaced."""
    envelope = Envelope.FromString(value)
    envelope.fencing_token = token
    envelope.status = status.encode()
    return envelope.SerializeToString(deterministic=True)


def marked(value: bytes, token: int, *, scheduler: str, at: str, ends: str, grace: int) -> bytes:
    """The value that marks a pod for deletion: what kubectl shows as `Terminating`, and why.

    The rest of the manifest stays as it is, byte for byte.

    Args:
        scheduler: The profile that makes room by it.
        at: RFC 3339, for the condition.
        ends: RFC 3339, when the pod may be taken away.
        grace: Seconds that it has until then.
    """
    envelope = Envelope.FromString(value)
    document = _FIELDS.decode(envelope.manifest)
    metadata = _FIELDS.decode(document["metadata"]) if "metadata" in document else {}
    more = {"deletionTimestamp": ends, "deletionGracePeriodSeconds": grace}
    envelope.manifest = msgspec.json.encode({**document, "metadata": {**metadata, **more}})
    envelope.fencing_token = token
    envelope.status = read_status(envelope.status).with_condition(preempted(scheduler, at=at)).encode()
    return envelope.SerializeToString(deterministic=True)


def status_of(value: bytes) -> PodStatus:
    """What the scheduler last said of a pod."""
    return read_status(Envelope.FromString(value).status)


def stored_uid(kv: KeyValue) -> str:
    """The uid of a stored object of any kind.

    Raises:
        Undecodable: The value is no object.
    """
    try:
        return _NAMED.read(parse_envelope(kv.key, kv.value).manifest).metadata.uid
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Undecodable(kv.key, str(error)) from error


def _unready(conditions: list[_Condition]) -> bool:
    return any(each.type == "Ready" and each.status != "True" for each in conditions)


def decode_pod(kv: KeyValue) -> Pod:
    """A pod.

    Raises:
        Undecodable: The value is no pod.
    """
    envelope = parse_envelope(kv.key, kv.value)
    _, namespace, name = kv.key.rsplit("/", 2)
    try:
        document = _POD.read(envelope.manifest)
        metadata, status = document.metadata, document.status
        node = envelope.node_name
        raw = envelope.status
        pending = not node and status.phase not in {"Succeeded", "Failed"}
        return Pod(
            name=name,
            namespace=intern(namespace),
            uid=metadata.uid,
            labels=labels_from(bytes(metadata.labels)),
            created=intern(metadata.creation_timestamp),
            mod_revision=kv.mod_revision,
            create_revision=kv.create_revision,
            token=envelope.fencing_token,
            spec=spec_from(bytes(document.spec)),
            node=intern(node),
            phase=intern(status.phase),
            deleting=bool(metadata.deletion_timestamp),
            started=intern(status.start_time or metadata.creation_timestamp),
            owner=metadata.controller,
            nominated=read_status(raw).nominated_node_name if raw and pending else "",
            unready=bool(status.conditions) and _unready(status.conditions),
            ends=metadata.deletion_timestamp if metadata.deletion_timestamp and read_status(raw).preempted else "",
            value=kv.value if pending else None,
        )
    except (msgspec.MsgspecError, QuantityError, UnicodeDecodeError, RecursionError) as error:
        raise Undecodable(kv.key, str(error)) from error


def as_bound(known: Pod, kv: KeyValue) -> Pod | None:
    """What `decode_pod` gives, if that is `known` with a node: a bind leaves the manifest as it is.

    Args:
        known: What an earlier value of the key was.

    Returns:
        None for any other change.

    Raises:
        Undecodable: The value is no pod.
    """
    if known.value is None or known.deleting:
        return None
    envelope = parse_envelope(kv.key, kv.value)
    if not envelope.node_name or envelope.manifest != Envelope.FromString(known.value).manifest:
        return None
    return msgspec.structs.replace(
        known,
        node=intern(envelope.node_name),
        nominated="",
        value=None,
        mod_revision=kv.mod_revision,
        create_revision=kv.create_revision,
        token=envelope.fencing_token,
    )


def _decoder(
    make: Callable[..., Object], read: Callable[[bytes], tuple[Metadata, dict[str, Any]]]
) -> Callable[[KeyValue], Object]:
    namespaced = make.KIND.namespaced  # type: ignore[attr-defined]  # every Object has one

    def decode_one(kv: KeyValue) -> Object:
        envelope = parse_envelope(kv.key, kv.value)
        parts = kv.key.rsplit("/", 2)
        try:
            metadata, fields = read(envelope.manifest)
            return make(
                name=parts[-1],
                namespace=intern(parts[-2]) if namespaced else "",
                uid=metadata.uid,
                labels=labels_from(bytes(metadata.labels)),
                created=metadata.creation_timestamp,
                mod_revision=kv.mod_revision,
                create_revision=kv.create_revision,
                token=envelope.fencing_token,
                **fields,
            )
        except (msgspec.MsgspecError, QuantityError, SelectorError, UnicodeDecodeError, RecursionError) as error:
            raise Undecodable(kv.key, str(error)) from error

    return decode_one


DECODERS: Final[Mapping[Kind, Callable[[KeyValue], Object]]] = {
    POD: decode_pod,
    NODE: _decoder(Node, read_node),
    NAMESPACE: _decoder(Namespace, read_namespace),
    PRIORITY_CLASS: _decoder(PriorityClass, read_priority_class),
    POD_GROUP: _decoder(PodGroup, read_pod_group),
    DISRUPTION_BUDGET: _decoder(DisruptionBudget, read_disruption_budget),
    EVENT: _decoder(Event, read_event),
}
"""How each kind is decoded. Each raises `Undecodable`."""


def decode(kind: Kind, kv: KeyValue) -> Object:
    """An object of a kind from its key and value.

    Raises:
        Undecodable: The value is no such object.
    """
    return DECODERS[kind](kv)
