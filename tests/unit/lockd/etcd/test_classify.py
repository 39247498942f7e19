"""Each row of the table of codes and messages that etcd and gRPC answer with."""

from __future__ import annotations

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from lockd.etcd.classify import classify

CODES = sorted(code.name for code in grpc.StatusCode if code is not grpc.StatusCode.OK)

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


@pytest.mark.parametrize(("code", "details", "kind"), TABLE)
def test_a_write_is_classed(code, details, kind):
    error = classify(code, details, write=True, operation="KV/Txn", endpoint="etcd-1:2379")
    assert type(error) is kind
    assert (error.operation, error.endpoint, error.code) == ("KV/Txn", "etcd-1:2379", code)


@pytest.mark.parametrize(("code", "details", "kind"), TABLE)
def test_a_read_is_never_of_unknown_outcome(code, details, kind):
    assert type(classify(code, details, write=False)) is (Unavailable if kind is MAYBE else kind)


@pytest.mark.parametrize("code", CODES)
@given(details=st.text(max_size=60))
def test_whatever_is_not_listed_may_have_been_applied(code, details):
    error = classify(code, details, write=True)
    certain = {"UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED"}
    assert isinstance(error, OutcomeUnknown) is (code not in certain)
    assert "\n" not in str(error)


def test_an_error_says_what_was_called_where_in_one_line():
    error = classify("UNKNOWN", "first\nsecond", write=True, operation="KV/Txn", endpoint="etcd-1:2379")
    assert str(error) == "KV/Txn of etcd-1:2379: UNKNOWN first second"
