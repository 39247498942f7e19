from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Envelope(_message.Message):
    __slots__ = ("fencing_token", "manifest", "node_name", "status")
    FENCING_TOKEN_FIELD_NUMBER: _ClassVar[int]
    MANIFEST_FIELD_NUMBER: _ClassVar[int]
    NODE_NAME_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    fencing_token: int
    manifest: bytes
    node_name: str
    status: bytes
    def __init__(self, fencing_token: _Optional[int] = ..., manifest: _Optional[bytes] = ..., node_name: _Optional[str] = ..., status: _Optional[bytes] = ...) -> None: ...
