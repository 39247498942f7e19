"""gRPC channels to the members: one each, with settings that notice a dead one and don't annoy a live one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import grpc

from lockd.etcd import wire
from lockd.etcd.tls import credentials

if TYPE_CHECKING:
    from lockd.etcd.connection import Connection

OPTIONS: Final = (
    # A stopped or cut-off member is noticed within 7 s while a call is open. gRPC enforces ping_timeout, not
    # keepalive_timeout, and pings without data must be unlimited. etcd ends connections pinged more often than each
    # 5 s, or pinged without a call: so permit_without_calls stays off.
    ("grpc.keepalive_time_ms", 5000),
    ("grpc.keepalive_timeout_ms", 2000),
    ("grpc.http2.ping_timeout_ms", 2000),
    ("grpc.http2.max_pings_without_data", 0),
    # A member that comes back is found again soon.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 3000),  # in truth the time that an attempt to connect has
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.dns_min_time_between_resolutions_ms", 1000),
    # Equal channels would share one connection, and one stuck flow would stop elections and work alike.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # Copies of a call are sent knowingly or not at all.
    ("grpc.enable_retries", 0),
    ("grpc.service_config_disable_resolution", 1),
    # etcd is a neighbour: a proxy for the world outside has no place in between.
    ("grpc.enable_http_proxy", 0),
)

HAS_LEADER: Final = ("hasleader", "true")
"""Metadata that has a member refuse a call, and end a stream, when it knows no leader."""


class Method(NamedTuple):
    """A method of etcd's API: `name` is such as `KV/Txn`."""

    name: str
    request: Any
    response: Any

    @property
    def path(self) -> str:
        return f"/etcdserverpb.{self.name}"


RANGE: Final = Method("KV/Range", wire.RangeRequest, wire.RangeResponse)
TXN: Final = Method("KV/Txn", wire.TxnRequest, wire.TxnResponse)
COMPACT: Final = Method("KV/Compact", wire.CompactionRequest, wire.CompactionResponse)
WATCH: Final = Method("Watch/Watch", wire.WatchRequest, wire.WatchResponse)
LEASE_GRANT: Final = Method("Lease/LeaseGrant", wire.LeaseGrantRequest, wire.LeaseGrantResponse)
LEASE_REVOKE: Final = Method("Lease/LeaseRevoke", wire.LeaseRevokeRequest, wire.LeaseRevokeResponse)
LEASE_KEEPALIVE: Final = Method("Lease/LeaseKeepAlive", wire.LeaseKeepAliveRequest, wire.LeaseKeepAliveResponse)
STATUS: Final = Method("Maintenance/Status", wire.StatusRequest, wire.StatusResponse)
ALARM: Final = Method("Maintenance/Alarm", wire.AlarmRequest, wire.AlarmResponse)
DEFRAGMENT: Final = Method("Maintenance/Defragment", wire.DefragmentRequest, wire.DefragmentResponse)
MOVE_LEADER: Final = Method("Maintenance/MoveLeader", wire.MoveLeaderRequest, wire.MoveLeaderResponse)
MEMBER_LIST: Final = Method("Cluster/MemberList", wire.MemberListRequest, wire.MemberListResponse)
AUTHENTICATE: Final = Method("Auth/Authenticate", wire.AuthenticateRequest, wire.AuthenticateResponse)


class Channels:
    """One channel for each endpoint, for one purpose: no other purpose's load delays it. Thread-safe."""

    def __init__(self, connection: Connection, *, purpose: str) -> None:
        """Check the files; connections are made by the first calls.

        Raises:
            ConfigError: A certificate, key or authority file can't be used; names it.
        """
        self.purpose = purpose
        self._name_of = connection.name_of
        self._credentials = credentials(connection) if connection.secure else None
        self._lock = threading.Lock()
        self._channels: dict[str, grpc.Channel] = {}
        self._callables: dict[tuple[str, str], Any] = {}
        self._closed = False

    def unary(self, endpoint: str, method: Method) -> Any:
        """The multi-callable of a method with one request and one response.

        Raises:
            ValueError: The channels are closed.
        """
        return self._callable(endpoint, method, "unary_unary")

    def stream(self, endpoint: str, method: Method) -> Any:
        """The multi-callable of a method that streams both ways.

        Raises:
            ValueError: The channels are closed.
        """
        return self._callable(endpoint, method, "stream_stream")

    def _callable(self, endpoint: str, method: Method, kind: str) -> Any:
        with self._lock:
            if self._closed:
                raise ValueError("the channels are closed")
            found = self._callables.get((endpoint, method.name))
            if found is None:
                channel = self._channels.get(endpoint) or self._open(endpoint)
                found = getattr(channel, kind)(
                    method.path,
                    request_serializer=method.request.SerializeToString,
                    response_deserializer=method.response.FromString,
                )
                self._callables[endpoint, method.name] = found
            return found

    def _open(self, endpoint: str) -> grpc.Channel:
        options = [*OPTIONS, ("grpc.primary_user_agent", f"lockd-{self.purpose}")]
        if self._credentials is None:
            channel = grpc.insecure_channel(endpoint, options)
        else:
            if (name := self._name_of(endpoint)) is not None:
                options.append(("grpc.ssl_target_name_override", name))
            channel = grpc.secure_channel(endpoint, self._credentials, options)
        self._channels[endpoint] = channel
        return channel

    def close(self) -> None:
        """End all calls and connections."""
        with self._lock:
            self._closed = True
            channels, self._channels = tuple(self._channels.values()), {}
            self._callables = {}
        for channel in channels:
            channel.close()
