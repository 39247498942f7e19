"""What etcd and gRPC answer with, and what a client may make of it: code, message, class of a write's error."""

from __future__ import annotations

from lockd.errors import (
    Compacted,
    LeaseNotFound,
    NoSpace,
    OutcomeUnknown,
    PermissionDenied,
    Rejected,
    TooLarge,
    Unauthenticated,
    Unavailable,
)

MAYBE = OutcomeUnknown
"""Of a write; a read is Unavailable there."""

TABLE = [
    ("UNAVAILABLE", "etcdserver: no leader", Unavailable),
    ("UNAVAILABLE", "etcdserver: leader changed", MAYBE),
    ("UNAVAILABLE", "etcdserver: request timed out", MAYBE),
    ("UNAVAILABLE", "etcdserver: request timed out, possibly due to previous leader failure", MAYBE),
    ("UNAVAILABLE", "etcdserver: request timed out, possibly due to connection lost", MAYBE),
    ("UNAVAILABLE", "etcdserver: request timed out, waiting for the applied index took too long", MAYBE),
    ("UNAVAILABLE", "etcdserver: server stopped", MAYBE),
    ("UNAVAILABLE", "etcdserver: unhealthy cluster", MAYBE),
    ("UNAVAILABLE", "Socket closed", MAYBE),
    ("UNAVAILABLE", "ping timeout", MAYBE),
    ("UNAVAILABLE", "GOAWAY received; Error code: 11; Debug Text: too_many_pings", MAYBE),
    ("UNAVAILABLE", "recvmsg:Connection reset by peer", MAYBE),
    ("UNAVAILABLE", "failed to connect to all addresses; last error: UNKNOWN: Connection refused", Unavailable),
    ("UNAVAILABLE", "DNS resolution failed for etcd-1:2379", Unavailable),
    ("UNKNOWN", "context deadline exceeded", MAYBE),
    ("UNKNOWN", "raft: stopped", MAYBE),
    ("DEADLINE_EXCEEDED", "Deadline Exceeded", MAYBE),
    ("DEADLINE_EXCEEDED", "etcdserver: context deadline exceeded", MAYBE),
    ("CANCELLED", "Locally cancelled by application!", MAYBE),
    ("INTERNAL", "Exception deserializing response!", MAYBE),
    ("ABORTED", "", MAYBE),
    ("RESOURCE_EXHAUSTED", "etcdserver: too many requests", Unavailable),
    ("RESOURCE_EXHAUSTED", "etcdserver: mvcc: database space exceeded", NoSpace),
    ("RESOURCE_EXHAUSTED", "grpc: received message larger than max (3000000 vs. 2097152)", TooLarge),
    ("RESOURCE_EXHAUSTED", "CLIENT: Sent message larger than max (9 vs. 4)", TooLarge),
    ("RESOURCE_EXHAUSTED", "CLIENT: Received message larger than max (9 vs. 4)", MAYBE),
    ("RESOURCE_EXHAUSTED", "grpc: trying to send message larger than max (9 vs. 4)", MAYBE),
    ("INVALID_ARGUMENT", "etcdserver: duplicate key given in txn request", Rejected),
    ("INVALID_ARGUMENT", "etcdserver: too many operations in txn request", TooLarge),
    ("INVALID_ARGUMENT", "etcdserver: request is too large", TooLarge),
    ("INVALID_ARGUMENT", "etcdserver: key is not provided", Rejected),
    ("INVALID_ARGUMENT", "etcdserver: value is provided", Rejected),
    ("INVALID_ARGUMENT", "etcdserver: lease is provided", Rejected),
    ("INVALID_ARGUMENT", "etcdserver: user name is empty", Unauthenticated),
    ("INVALID_ARGUMENT", "etcdserver: revision of auth store is old", Unauthenticated),
    ("UNKNOWN", "auth: revision in header is old", Unauthenticated),
    ("INVALID_ARGUMENT", "etcdserver: authentication failed, invalid user ID or password", PermissionDenied),
    ("INVALID_ARGUMENT", "a proxy's own idea", MAYBE),
    ("OUT_OF_RANGE", "etcdserver: mvcc: required revision has been compacted", Compacted),
    ("OUT_OF_RANGE", "etcdserver: mvcc: required revision is a future revision", Unavailable),
    ("NOT_FOUND", "etcdserver: requested lease not found", LeaseNotFound),
    ("NOT_FOUND", "etcdserver: member not found", Rejected),
    ("FAILED_PRECONDITION", "etcdserver: not leader", Unavailable),
    ("FAILED_PRECONDITION", "etcdserver: not capable", Unavailable),
    ("FAILED_PRECONDITION", "etcdserver: rpc not supported for learner", Unavailable),
    ("FAILED_PRECONDITION", "etcdserver: lease already exists", Rejected),
    ("FAILED_PRECONDITION", "etcdserver: authentication is not enabled", Rejected),
    ("UNAUTHENTICATED", "etcdserver: invalid auth token", Unauthenticated),
    ("PERMISSION_DENIED", "etcdserver: permission denied", PermissionDenied),
    ("UNIMPLEMENTED", "unknown service etcdserverpb.KV", Rejected),
    ("DATA_LOSS", "etcdserver: corrupt cluster", Rejected),
    ("DATA_LOSS", "truncated", MAYBE),
    (
        "UNAVAILABLE",
        (
            "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:2379: Ssl handshake failed "
            "(TSI_PROTOCOL_FAILURE): SSL_ERROR_SSL: error:1000007d:SSL routines:CERTIFICATE_VERIFY_FAILED"
        ),
        PermissionDenied,
    ),
]
