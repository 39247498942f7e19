"""Events: what happened to an object, for people."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import msgspec

from replica.api.kinds import EVENT, Kind
from replica.api.objects import Metadata, Object
from replica.api.wire import Reader

NORMAL: Final = "Normal"
WARNING: Final = "Warning"
NOTE_LIMIT: Final = 1024
"""Bytes of a note that are kept."""


class Reference(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Which object an event is about."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    resource_version: str = ""


class Series(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How often an event came again, and when last (RFC 3339)."""

    count: int = 0
    last_observed_time: str = ""


class Event(Object, frozen=True, gc=False, kw_only=True):
    """An event.

    Attributes:
        regarding: The object it is about.
        note: A sentence for people.
        type: `Normal` or `Warning`.
        time: RFC 3339, when it happened first.
        series: None for an event that happened once.
    """

    KIND: ClassVar[Kind] = EVENT

    regarding: Reference = Reference()
    related: Reference | None = None
    reason: str = ""
    note: str = ""
    type: str = NORMAL
    action: str = ""
    controller: str = ""
    instance: str = ""
    time: str = ""
    series: Series | None = None

    @property
    def last_seen(self) -> str:
        """RFC 3339."""
        return (self.series.last_observed_time if self.series is not None else "") or self.time or self.created

    @property
    def count(self) -> int:
        return self.series.count if self.series is not None else 1

    def manifest(self) -> bytes:
        """The event as JSON, in the form of events.k8s.io/v1."""
        document: dict[str, Any] = {
            "apiVersion": EVENT.versions[0],
            "kind": EVENT.kind,
            "metadata": {
                "name": self.name,
                "namespace": self.namespace,
                "uid": self.uid,
                "creationTimestamp": self.created,
                **({"labels": dict(self.labels)} if self.labels else {}),
            },
            "eventTime": self.time,
            "type": self.type,
            "reason": self.reason,
            "action": self.action,
            "note": clip_note(self.note),
            "regarding": self.regarding,
            "reportingController": self.controller,
            "reportingInstance": self.instance,
        }
        if self.related is not None:
            document["related"] = self.related
        if self.series is not None:
            document["series"] = self.series
        return msgspec.json.encode(document)


def clip_note(note: str) -> str:
    """A note of at most `NOTE_LIMIT` bytes, cut at a character."""
    if 4 * len(note) <= NOTE_LIMIT:  # no character takes more
        return note
    raw = note.encode()
    if len(raw) <= NOTE_LIMIT:
        return note
    return raw[: NOTE_LIMIT - 3].decode(errors="ignore") + "..."


class _Source(msgspec.Struct, gc=False):
    component: str = ""
    host: str = ""


class _Document(msgspec.Struct, gc=False, rename="camel"):
    """Both forms: events.k8s.io/v1, and the core's older one."""

    metadata: Metadata = msgspec.field(default_factory=Metadata)
    regarding: Reference | None = None
    involved_object: Reference | None = None
    related: Reference | None = None
    reason: str = ""
    note: str = ""
    message: str = ""
    type: str = NORMAL
    action: str = ""
    reporting_controller: str = ""
    reporting_component: str = ""
    reporting_instance: str = ""
    source: _Source = msgspec.field(default_factory=_Source)
    event_time: str = ""
    first_timestamp: str = ""
    last_timestamp: str = ""
    count: int = 0
    series: Series | None = None


_READER: Final = Reader(_Document)


def read_event(raw: bytes) -> tuple[Metadata, dict[str, Any]]:
    """An event's metadata and own fields.

    Raises:
        msgspec.MsgspecError: Not JSON, or a field of another type.
    """
    document = _READER.read(raw)
    series = document.series
    if series is None and document.count > 1:
        series = Series(document.count, document.last_timestamp)
    return document.metadata, {
        "regarding": document.regarding or document.involved_object or Reference(),
        "related": document.related,
        "reason": document.reason,
        "note": document.note or document.message,
        "type": document.type,
        "action": document.action,
        "controller": document.reporting_controller or document.reporting_component or document.source.component,
        "instance": document.reporting_instance or document.source.host,
        "time": document.event_time or document.first_timestamp or document.last_timestamp,
        "series": series,
    }
