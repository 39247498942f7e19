"""What one who looks on says of a lock: each leader once, and nothing while an acquire has arrived by half."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockd.observed import Observed
from lockd.ports import Seen
from lockd.record import LeaderRecord, TermValue
from lockd.sighting import Sighting, State, header

HELD = LeaderRecord(holder_identity="a", lease_duration=3.0, takeover="first", acquire_time="2026-01-01T00:00:00Z")


def lease(observed, revision, record, now=0.0):
    value = record.encode() if record is not None else None
    return observed.with_lease(Seen(revision, value), now)


def term(observed, revision, holder):
    return observed.with_term(Seen(revision, TermValue(holder, f"acquisition {revision}").encode()))


def held(now=0.0):
    return term(lease(Observed(), 7, HELD, now), 7, "a")


def test_a_lock_that_is_held():
    seen = Sighting.of(held(), 1.0)
    assert (seen.state, seen.holder, seen.token, seen.takeover) == (State.HELD, "a", 7, "first")
    assert (seen.revision, seen.lease_duration, seen.acquired) == (7, 3.0, "2026-01-01T00:00:00Z")
    assert seen.document("n/l", "now")["fencingToken"] == 7


def test_nothing_is_said_while_an_acquire_has_arrived_by_half():
    assert Sighting.of(Observed(), 0.0) is None
    assert Sighting.of(lease(Observed(), 7, HELD), 0.0) is None
    halfway = lease(held(), 9, replace(HELD, holder_identity="b"))
    assert Sighting.of(halfway, 0.0) is None
    assert Sighting.of(term(halfway, 9, "b"), 0.0).token == 9


def test_a_renewal_is_nothing_new():
    before = Sighting.of(held(), 0.0)
    after = Sighting.of(lease(held(), 8, replace(HELD, renewal="x"), now=2.0), 4.9)
    assert (after.state, after.token, after.revision) == (State.HELD, 7, 8)
    assert not after.news(before)
    assert before.news(None)


@pytest.mark.parametrize(("now", "state"), [(2.9, State.HELD), (3.0, State.EXPIRED), (99.0, State.EXPIRED)])
def test_a_holder_that_does_not_renew_expires(now, state):
    seen = Sighting.of(held(), now)
    assert (seen.state, seen.holder, seen.token) == (state, "a", 7)
    assert seen.news(Sighting.of(held(), 0.0)) == (state is State.EXPIRED)


def test_the_same_holder_in_a_term_of_its_own_again_is_news():
    again = term(lease(held(), 9, HELD), 9, "a")
    assert Sighting.of(again, 0.0).news(Sighting.of(held(), 0.0))


@pytest.mark.parametrize(
    ("observed", "state"),
    [
        (lease(held(), 9, None), State.FREE),
        (term(lease(held(), 9, LeaderRecord()), 9, ""), State.FREE),
        (held().with_lease(Seen(9, b"{not json"), 0.0), State.UNREADABLE),
    ],
    ids=["deleted", "released", "unreadable"],
)
def test_nobody_holds_it_or_nobody_knows_who(observed, state):
    seen = Sighting.of(observed, 0.0)
    assert (seen.state, seen.holder, seen.token) == (state, "", 0)
    assert seen.document("n/l", "now")["fencingToken"] is None


def test_rows_stand_below_their_headers():
    row = Sighting.of(held(), 0.0).row("2026-01-01T00:00:00.000000Z")
    assert [header().index(word) for word in header().split()] == [row.index(word) for word in row.split()]
