import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Lock(_message.Message):
    __slots__ = ("namespace", "name")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    namespace: str
    name: str
    def __init__(self, namespace: _Optional[str] = ..., name: _Optional[str] = ...) -> None: ...

class CampaignRequest(_message.Message):
    __slots__ = ("enter", "resume", "keep_alive")
    ENTER_FIELD_NUMBER: _ClassVar[int]
    RESUME_FIELD_NUMBER: _ClassVar[int]
    KEEP_ALIVE_FIELD_NUMBER: _ClassVar[int]
    enter: Enter
    resume: Resume
    keep_alive: KeepAlive
    def __init__(self, enter: _Optional[_Union[Enter, _Mapping]] = ..., resume: _Optional[_Union[Resume, _Mapping]] = ..., keep_alive: _Optional[_Union[KeepAlive, _Mapping]] = ...) -> None: ...

class Enter(_message.Message):
    __slots__ = ("lock", "identity", "lease_duration", "renew_deadline", "retry_period", "wait")
    LOCK_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    LEASE_DURATION_FIELD_NUMBER: _ClassVar[int]
    RENEW_DEADLINE_FIELD_NUMBER: _ClassVar[int]
    RETRY_PERIOD_FIELD_NUMBER: _ClassVar[int]
    WAIT_FIELD_NUMBER: _ClassVar[int]
    lock: Lock
    identity: str
    lease_duration: _duration_pb2.Duration
    renew_deadline: _duration_pb2.Duration
    retry_period: _duration_pb2.Duration
    wait: _duration_pb2.Duration
    def __init__(self, lock: _Optional[_Union[Lock, _Mapping]] = ..., identity: _Optional[str] = ..., lease_duration: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., renew_deadline: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., retry_period: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Resume(_message.Message):
    __slots__ = ("lock", "fencing_token", "acquisition", "renew_deadline", "retry_period")
    LOCK_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ACQUISITION_FIELD_NUMBER: _ClassVar[int]
    RENEW_DEADLINE_FIELD_NUMBER: _ClassVar[int]
    RETRY_PERIOD_FIELD_NUMBER: _ClassVar[int]
    lock: Lock
    fencing_token: int
    acquisition: str
    renew_deadline: _duration_pb2.Duration
    retry_period: _duration_pb2.Duration
    def __init__(self, lock: _Optional[_Union[Lock, _Mapping]] = ..., fencing_token: _Optional[int] = ..., acquisition: _Optional[str] = ..., renew_deadline: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., retry_period: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class KeepAlive(_message.Message):
    __slots__ = ("sequence",)
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    def __init__(self, sequence: _Optional[int] = ...) -> None: ...

class CampaignResponse(_message.Message):
    __slots__ = ("waiting", "leading", "kept_alive", "draining", "ended", "releasing")
    WAITING_FIELD_NUMBER: _ClassVar[int]
    LEADING_FIELD_NUMBER: _ClassVar[int]
    KEPT_ALIVE_FIELD_NUMBER: _ClassVar[int]
    DRAINING_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    RELEASING_FIELD_NUMBER: _ClassVar[int]
    waiting: Waiting
    leading: Leading
    kept_alive: KeptAlive
    draining: Draining
    ended: Ended
    releasing: Releasing
    def __init__(self, waiting: _Optional[_Union[Waiting, _Mapping]] = ..., leading: _Optional[_Union[Leading, _Mapping]] = ..., kept_alive: _Optional[_Union[KeptAlive, _Mapping]] = ..., draining: _Optional[_Union[Draining, _Mapping]] = ..., ended: _Optional[_Union[Ended, _Mapping]] = ..., releasing: _Optional[_Union[Releasing, _Mapping]] = ...) -> None: ...

class Waiting(_message.Message):
    __slots__ = ("holder_identity",)
    HOLDER_IDENTITY_FIELD_NUMBER: _ClassVar[int]
    holder_identity: str
    def __init__(self, holder_identity: _Optional[str] = ...) -> None: ...

class Leading(_message.Message):
    __slots__ = ("fencing_token", "identity", "acquisition", "traceparent", "sequence", "lease_duration", "renew_deadline", "retry_period")
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    ACQUISITION_FIELD_NUMBER: _ClassVar[int]
    TRACEPARENT_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    LEASE_DURATION_FIELD_NUMBER: _ClassVar[int]
    RENEW_DEADLINE_FIELD_NUMBER: _ClassVar[int]
    RETRY_PERIOD_FIELD_NUMBER: _ClassVar[int]
    fencing_token: int
    identity: str
    acquisition: str
    traceparent: str
    sequence: int
    lease_duration: _duration_pb2.Duration
    renew_deadline: _duration_pb2.Duration
    retry_period: _duration_pb2.Duration
    def __init__(self, fencing_token: _Optional[int] = ..., identity: _Optional[str] = ..., acquisition: _Optional[str] = ..., traceparent: _Optional[str] = ..., sequence: _Optional[int] = ..., lease_duration: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., renew_deadline: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., retry_period: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class KeptAlive(_message.Message):
    __slots__ = ("sequence",)
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    def __init__(self, sequence: _Optional[int] = ...) -> None: ...

class Draining(_message.Message):
    __slots__ = ("successor", "drain_timeout")
    SUCCESSOR_FIELD_NUMBER: _ClassVar[int]
    DRAIN_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    successor: str
    drain_timeout: _duration_pb2.Duration
    def __init__(self, successor: _Optional[str] = ..., drain_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Releasing(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Ended(_message.Message):
    __slots__ = ("reason", "released")
    REASON_FIELD_NUMBER: _ClassVar[int]
    RELEASED_FIELD_NUMBER: _ClassVar[int]
    reason: str
    released: bool
    def __init__(self, reason: _Optional[str] = ..., released: _Optional[bool] = ...) -> None: ...

class ObserveRequest(_message.Message):
    __slots__ = ("lock", "after_revision")
    LOCK_FIELD_NUMBER: _ClassVar[int]
    AFTER_REVISION_FIELD_NUMBER: _ClassVar[int]
    lock: Lock
    after_revision: int
    def __init__(self, lock: _Optional[_Union[Lock, _Mapping]] = ..., after_revision: _Optional[int] = ...) -> None: ...

class ObserveResponse(_message.Message):
    __slots__ = ("holder_identity", "fencing_token", "revision")
    HOLDER_IDENTITY_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    holder_identity: str
    fencing_token: int
    revision: int
    def __init__(self, holder_identity: _Optional[str] = ..., fencing_token: _Optional[int] = ..., revision: _Optional[int] = ...) -> None: ...

class CheckRequest(_message.Message):
    __slots__ = ("lock", "fencing_token")
    LOCK_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    lock: Lock
    fencing_token: int
    def __init__(self, lock: _Optional[_Union[Lock, _Mapping]] = ..., fencing_token: _Optional[int] = ...) -> None: ...

class CheckResponse(_message.Message):
    __slots__ = ("newest", "current_token", "holder_identity", "revision")
    NEWEST_FIELD_NUMBER: _ClassVar[int]
    CURRENT_TOKEN_FIELD_NUMBER: _ClassVar[int]
    HOLDER_IDENTITY_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    newest: bool
    current_token: int
    holder_identity: str
    revision: int
    def __init__(self, newest: _Optional[bool] = ..., current_token: _Optional[int] = ..., holder_identity: _Optional[str] = ..., revision: _Optional[int] = ...) -> None: ...

class ResignRequest(_message.Message):
    __slots__ = ("lock", "fencing_token", "acquisition")
    LOCK_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ACQUISITION_FIELD_NUMBER: _ClassVar[int]
    lock: Lock
    fencing_token: int
    acquisition: str
    def __init__(self, lock: _Optional[_Union[Lock, _Mapping]] = ..., fencing_token: _Optional[int] = ..., acquisition: _Optional[str] = ...) -> None: ...

class ResignResponse(_message.Message):
    __slots__ = ("released",)
    RELEASED_FIELD_NUMBER: _ClassVar[int]
    released: bool
    def __init__(self, released: _Optional[bool] = ...) -> None: ...

class HistoryRequest(_message.Message):
    __slots__ = ("lock",)
    LOCK_FIELD_NUMBER: _ClassVar[int]
    lock: Lock
    def __init__(self, lock: _Optional[_Union[Lock, _Mapping]] = ...) -> None: ...

class HistoryResponse(_message.Message):
    __slots__ = ("terms",)
    TERMS_FIELD_NUMBER: _ClassVar[int]
    terms: _containers.RepeatedCompositeFieldContainer[Term]
    def __init__(self, terms: _Optional[_Iterable[_Union[Term, _Mapping]]] = ...) -> None: ...

class Term(_message.Message):
    __slots__ = ("identity", "fencing_token", "since", "until", "takeover", "ended_by")
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    UNTIL_FIELD_NUMBER: _ClassVar[int]
    TAKEOVER_FIELD_NUMBER: _ClassVar[int]
    ENDED_BY_FIELD_NUMBER: _ClassVar[int]
    identity: str
    fencing_token: int
    since: str
    until: str
    takeover: str
    ended_by: str
    def __init__(self, identity: _Optional[str] = ..., fencing_token: _Optional[int] = ..., since: _Optional[str] = ..., until: _Optional[str] = ..., takeover: _Optional[str] = ..., ended_by: _Optional[str] = ...) -> None: ...
