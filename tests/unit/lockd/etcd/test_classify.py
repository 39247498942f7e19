"""Each row of the table of codes and messages that etcd and gRPC answer with."""

from __future__ import annotations

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockd.errors import OutcomeUnknown, Unavailable
from lockd.etcd.classify import classify, never_connected
from tests.harness.codes import MAYBE, TABLE

CODES = sorted(code.name for code in grpc.StatusCode if code is not grpc.StatusCode.OK)


@pytest.mark.parametrize(("code", "details", "kind"), TABLE)
def test_a_write_is_classed(code, details, kind):
    error = classify(code, details, write=True, operation="KV/Txn", endpoint="etcd-1:2379")
    assert type(error) is kind
    assert (error.operation, error.endpoint, error.code) == ("KV/Txn", "etcd-1:2379", code)


@pytest.mark.parametrize(("code", "details", "kind"), TABLE)
def test_a_read_is_never_of_unknown_outcome(code, details, kind):
    assert type(classify(code, details, write=False)) is (Unavailable if kind is MAYBE else kind)


@pytest.mark.parametrize("code", CODES)
@given(
    details=st.text(st.characters(exclude_categories=("Lu", "Ll", "Cs")), max_size=60)
)  # all that is listed has letters
def test_whatever_is_not_listed_may_have_been_applied(code, details):
    error = classify(code, details, write=True)
    certain = {"UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED"}
    assert isinstance(error, OutcomeUnknown) is (code not in certain)
    assert "\n" not in str(error)


def test_an_error_says_what_was_called_where_in_one_line():
    error = classify("UNKNOWN", "first\nsecond", write=True, operation="KV/Txn", endpoint="etcd-1:2379")
    assert str(error) == "KV/Txn of etcd-1:2379: UNKNOWN first second"


def test_what_grpc_says_of_a_connection_is_shortened():
    details = "failed to connect to all addresses; last error: UNKNOWN: ipv4:127.0.0.1:1: Connection refused"
    assert str(classify("UNAVAILABLE", details, write=True)) == "not connected: Connection refused"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("KV/Range of a:1: not connected: Failed to connect to remote host: Connection refused", True),
        ("KV/Range of a:1: DNS resolution failed for a:1", True),
        ("KV/Range of a:1: not connected: FD Shutdown: connection attempt timed out before receiving SETTINGS", False),
        ("KV/Range of a:1: DEADLINE_EXCEEDED Deadline Exceeded", False),
        ("KV/Range of a:1: no leader", False),
    ],
)
def test_what_is_certain_at_once_is_told_from_what_takes_time(message, expected):
    assert never_connected(message) is expected
