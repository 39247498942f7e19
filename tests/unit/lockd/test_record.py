"""What the lock's keys hold: written and read back, and read when somebody else wrote them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockd.record import (
    HISTORY_LIMIT,
    TAKEOVERS,
    HistoryEntry,
    LeaderRecord,
    TermValue,
    display_time,
    encode_history,
    parse_history,
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
durations = st.floats(min_value=0.001, max_value=1e6) | st.integers(1, 10**6).map(float)
records = st.builds(
    LeaderRecord,
    holder_identity=st.text(),
    lease_duration=durations,
    acquire_time=st.text(),
    renew_time=st.text(),
    leader_transitions=st.integers(0, 10**9),
    renewal=st.text(),
    fenced=st.booleans(),
    preferred_holder=st.text(),
    takeover=st.sampled_from(("", *TAKEOVERS)),
    presence_address=st.text(),
    presence_holdoff=st.floats(min_value=0, max_value=600),
    traceparent=st.text(),
    extra=st.dictionaries(st.text().map("x-".__add__), st.integers() | st.text(), max_size=3),
)
entries = st.builds(
    HistoryEntry,
    identity=st.text(),
    token=st.integers(1, 10**9),
    since=st.text(),
    until=st.text(),
    reason=st.text(),
    takeover=st.sampled_from(TAKEOVERS),
)


def record_of(**fields):
    return LeaderRecord.parse(json.dumps({"holderIdentity": "a", "leaseDurationSeconds": 15, **fields}).encode())


def test_a_record_is_written_as_the_documents_name_its_fields():
    written = json.loads(LeaderRecord(holder_identity="a", lease_duration=2.5, renewal="r", extra={"new": 1}).encode())
    assert written == {
        "holderIdentity": "a",
        "leaseDurationSeconds": 2.5,
        "acquireTime": "",
        "renewTime": "",
        "leaderTransitions": 0,
        "renewal": "r",
        "fenced": True,
        "preferredHolder": "",
        "takeover": "",
        "presenceAddress": "",
        "presenceHoldoffSeconds": 0.0,
        "traceparent": "",
        "new": 1,
    }


def test_whole_seconds_are_written_as_an_integer():
    assert b'"leaseDurationSeconds":15,' in LeaderRecord(holder_identity="a", lease_duration=15.0).encode()


def test_an_unknown_field_does_not_replace_a_known_one():
    assert LeaderRecord.parse(LeaderRecord(holder_identity="a", extra={"holderIdentity": "b"}).encode()) == (
        LeaderRecord(holder_identity="a")
    )


def test_json_nested_without_end_is_refused():
    assert LeaderRecord.parse(b"[" * 100_000) is None


@pytest.mark.parametrize("seconds", [0, -1, "15", None, True, float("nan"), float("inf"), 1e300, [15]])
def test_a_holder_without_a_usable_duration_is_unknown(seconds):
    # P22: what doesn't tell how long to wait can't be believed about who holds the lease.
    assert record_of(leaseDurationSeconds=seconds) is None


def test_an_empty_holder_needs_no_duration():
    record = LeaderRecord.parse(b'{"holderIdentity":""}')
    assert record is not None
    assert record.holder_identity == ""


def test_a_holder_that_is_no_text_is_unknown():
    assert record_of(holderIdentity=5) is None


@pytest.mark.parametrize(
    ("field", "value", "read"),
    [
        ("leaderTransitions", -3, ("leader_transitions", 0)),
        ("leaderTransitions", True, ("leader_transitions", 0)),
        ("presenceHoldoffSeconds", -1, ("presence_holdoff", 0.0)),
        ("presenceHoldoffSeconds", "30", ("presence_holdoff", 0.0)),
        ("presenceHoldoffSeconds", 30, ("presence_holdoff", 30.0)),
        ("preferredHolder", 7, ("preferred_holder", "")),
        ("fenced", False, ("fenced", False)),
        ("fenced", "yes", ("fenced", False)),
    ],
)
def test_a_field_of_the_wrong_type_falls_back(field, value, read):
    name, expected = read
    assert getattr(record_of(**{field: value}), name) == expected


def test_a_record_that_says_nothing_of_fencing_is_fenced():
    assert record_of().fenced is True


def test_terms_differ_in_their_bytes_by_the_acquisition_alone():
    assert TermValue("a", "1").encode() != TermValue("a", "2").encode()


def test_a_history_keeps_the_newest_terms():
    terms = tuple(HistoryEntry(identity="a", token=token) for token in range(1, HISTORY_LIMIT + 20))
    assert parse_history(encode_history(terms), 999) == terms[-HISTORY_LIMIT:]


def test_the_newest_token_is_the_revision_that_wrote_it():
    terms = (HistoryEntry(identity="a", token=0), HistoryEntry(identity="b"))
    assert [entry.token for entry in parse_history(encode_history(terms), 77)] == [0, 77]


def test_an_absent_history_is_empty():
    assert parse_history(None, 0) == ()


def test_times_are_shown_in_utc():
    assert display_time(1_700_000_000.25) == "2023-11-14T22:13:20.250000Z"


@given(records)
def test_a_record_survives_being_written(record):
    assert LeaderRecord.parse(record.encode()) == record


@given(json_values)
def test_any_json_is_read_or_refused_without_an_error(value):
    data = json.dumps(value).encode()
    LeaderRecord.parse(data)
    TermValue.parse(data)
    parse_history(data, 1)


@given(st.binary())
def test_any_bytes_are_read_or_refused_without_an_error(data):
    LeaderRecord.parse(data)
    TermValue.parse(data)
    parse_history(data, 1)


@given(
    st.dictionaries(
        st.sampled_from([*json.loads(LeaderRecord().encode()), "other"]),
        json_values,
    )
)
def test_whatever_stands_in_known_fields_gives_usable_values(document):
    record = LeaderRecord.parse(json.dumps(document).encode())
    if record is not None:
        assert record.lease_duration > 0
        assert record.presence_holdoff >= 0
        assert record.leader_transitions >= 0
        assert LeaderRecord.parse(record.encode()) == record


@given(st.text(), st.text())
def test_a_term_survives_being_written(holder, acquisition):
    assert TermValue.parse(TermValue(holder, acquisition).encode()) == TermValue(holder, acquisition)


@given(st.lists(entries, max_size=5))
def test_a_history_survives_being_written(terms):
    assert parse_history(encode_history(tuple(terms)), 99) == tuple(terms)


def test_a_history_that_somebody_filled_up_still_fits_into_an_acquire():
    stuffed = json.dumps({"terms": [{"identity": "x" * 10_000, "token": 1, "reason": "y" * 10_000}] * 200}).encode()
    assert len(encode_history(parse_history(stuffed, 5))) < 200_000
