"""etcd's wire messages, read out of the `etcd3` distribution without executing any of it.

Its generated modules are of 2020 and can't be imported under today's protobuf, but each holds its file's descriptor
as one string literal. The literals are parsed with `ast`, the fields that newer servers speak are added, and the
message classes are built in a private descriptor pool: nobody else's `kv.proto` or `etcd3` is touched.

The classes have protobuf's usual constructors and fields, named as in etcd's rpc.proto.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path
from typing import Any, Final, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from lockd.errors import ConfigError

_DISTRIBUTION: Final = "etcd3"
_MODULES: Final = ("kv", "auth", "rpc")  # in the order of their imports
_LITERAL: Final = re.compile(r"^ *serialized_pb=_b\((.*)\)$", re.MULTILINE)

_Kind = descriptor_pb2.FieldDescriptorProto


class _NewField(NamedTuple):
    message: str
    name: str
    number: int
    kind: descriptor_pb2.FieldDescriptorProto.Type.ValueType
    repeated: bool = False
    of: str = ""
    """The message type of a message field."""
    oneof: str = ""


_NEW_FIELDS: Final = (
    _NewField("WatchCreateRequest", "watch_id", 7, _Kind.TYPE_INT64),
    _NewField("WatchCreateRequest", "fragment", 8, _Kind.TYPE_BOOL),
    _NewField(
        "WatchRequest",
        "progress_request",
        3,
        _Kind.TYPE_MESSAGE,
        of=".etcdserverpb.WatchProgressRequest",
        oneof="request_union",
    ),
    _NewField("WatchResponse", "fragment", 7, _Kind.TYPE_BOOL),
    _NewField("StatusResponse", "raftAppliedIndex", 7, _Kind.TYPE_UINT64),
    _NewField("StatusResponse", "errors", 8, _Kind.TYPE_STRING, repeated=True),
    _NewField("StatusResponse", "dbSizeInUse", 9, _Kind.TYPE_INT64),
    _NewField("StatusResponse", "isLearner", 10, _Kind.TYPE_BOOL),
    _NewField("Member", "isLearner", 5, _Kind.TYPE_BOOL),
)


def _serialized_files() -> list[bytes]:
    spec = importlib.util.find_spec(_DISTRIBUTION)  # finds the package's folder without importing it
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError((f"the Python package {_DISTRIBUTION!r} is missing: install {_DISTRIBUTION}==0.12.0",))
    folder = Path(next(iter(spec.submodule_search_locations))) / "etcdrpc"
    files = []
    for module in _MODULES:
        path = folder / f"{module}_pb2.py"
        try:
            literal = _LITERAL.search(path.read_text(encoding="utf-8"))
            files.append(ast.literal_eval(literal[1]).encode("latin-1") if literal else b"")
        except (OSError, ValueError, SyntaxError) as error:
            raise ConfigError((f"{path} can't be read ({error}): reinstall {_DISTRIBUTION}==0.12.0",)) from error
        if not files[-1]:
            raise ConfigError((f"{path} holds no descriptor: install {_DISTRIBUTION}==0.12.0",))
    return files


def _add_field(message: descriptor_pb2.DescriptorProto, new: _NewField) -> None:
    if any(new.name == old.name or new.number == old.number for old in message.field):
        return  # a newer distribution has it
    field = message.field.add(
        name=new.name,
        number=new.number,
        type=new.kind,
        label=_Kind.LABEL_REPEATED if new.repeated else _Kind.LABEL_OPTIONAL,
        json_name=new.name,
    )
    if new.of:
        field.type_name = new.of
    if new.oneof:
        field.oneof_index = [union.name for union in message.oneof_decl].index(new.oneof)


def _modernize(file: descriptor_pb2.FileDescriptorProto) -> None:
    messages = {message.name: message for message in file.message_type}
    if "WatchRequest" not in messages:
        return
    if "WatchProgressRequest" not in messages:
        file.message_type.add(name="WatchProgressRequest")
    for new in _NEW_FIELDS:
        _add_field(messages[new.message], new)


def _load() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    for serialized in _serialized_files():
        file = descriptor_pb2.FileDescriptorProto.FromString(serialized)
        _modernize(file)
        # Options name extensions (gogoproto, HTTP annotations) that are not needed to speak the protocol.
        file.ClearField("options")
        pool.Add(file)
    return pool


_POOL: Final = _load()


def message(name: str) -> Any:
    """The class of a message, such as `etcdserverpb.RangeRequest`."""
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(name))


RangeRequest: Any = message("etcdserverpb.RangeRequest")
RangeResponse: Any = message("etcdserverpb.RangeResponse")
PutRequest: Any = message("etcdserverpb.PutRequest")
DeleteRangeRequest: Any = message("etcdserverpb.DeleteRangeRequest")
RequestOp: Any = message("etcdserverpb.RequestOp")
Compare: Any = message("etcdserverpb.Compare")
TxnRequest: Any = message("etcdserverpb.TxnRequest")
TxnResponse: Any = message("etcdserverpb.TxnResponse")
CompactionRequest: Any = message("etcdserverpb.CompactionRequest")
CompactionResponse: Any = message("etcdserverpb.CompactionResponse")
WatchRequest: Any = message("etcdserverpb.WatchRequest")
WatchResponse: Any = message("etcdserverpb.WatchResponse")
LeaseGrantRequest: Any = message("etcdserverpb.LeaseGrantRequest")
LeaseGrantResponse: Any = message("etcdserverpb.LeaseGrantResponse")
LeaseRevokeRequest: Any = message("etcdserverpb.LeaseRevokeRequest")
LeaseRevokeResponse: Any = message("etcdserverpb.LeaseRevokeResponse")
LeaseKeepAliveRequest: Any = message("etcdserverpb.LeaseKeepAliveRequest")
LeaseKeepAliveResponse: Any = message("etcdserverpb.LeaseKeepAliveResponse")
StatusRequest: Any = message("etcdserverpb.StatusRequest")
StatusResponse: Any = message("etcdserverpb.StatusResponse")
AlarmRequest: Any = message("etcdserverpb.AlarmRequest")
AlarmResponse: Any = message("etcdserverpb.AlarmResponse")
DefragmentRequest: Any = message("etcdserverpb.DefragmentRequest")
DefragmentResponse: Any = message("etcdserverpb.DefragmentResponse")
MoveLeaderRequest: Any = message("etcdserverpb.MoveLeaderRequest")
MoveLeaderResponse: Any = message("etcdserverpb.MoveLeaderResponse")
MemberListRequest: Any = message("etcdserverpb.MemberListRequest")
MemberListResponse: Any = message("etcdserverpb.MemberListResponse")
AuthenticateRequest: Any = message("etcdserverpb.AuthenticateRequest")
AuthenticateResponse: Any = message("etcdserverpb.AuthenticateResponse")
KeyValue: Any = message("mvccpb.KeyValue")
