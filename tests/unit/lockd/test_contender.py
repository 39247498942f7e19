"""Whether a holder lives, as one who doesn't want to wait for it can tell."""

from __future__ import annotations

import pytest

from lockd.ctl.contender import living_holder
from lockd.observed import Observed
from lockd.ports import Seen
from lockd.record import LeaderRecord


def seen(revision, holder):
    """What was observed once the record was at this revision."""
    record = LeaderRecord(holder_identity=holder, lease_duration=3.0, renewal=str(revision))
    return Observed().with_lease(Seen(revision, record.encode()), 0.0)


NOTHING = Observed()


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (NOTHING, NOTHING, ""),
        (NOTHING, seen(7, "a"), ""),  # it may have died long ago
        (seen(7, "a"), seen(7, "a"), ""),
        (seen(7, "a"), seen(9, "a"), "a"),
        (seen(7, ""), seen(9, "a"), "a"),
        (seen(7, "a"), seen(9, "c"), "c"),
        (seen(7, "a"), seen(9, ""), ""),
        (seen(7, "a"), seen(9, "me"), ""),
        (seen(7, "a"), Observed().with_lease(Seen(9, None), 0.0), ""),
    ],
)
def test_a_holder_lives_that_is_seen_to_write(before, after, expected):
    assert living_holder(before, after, "me") == expected
