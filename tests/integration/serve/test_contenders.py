"""Two hundred contenders of one process, as streams of a lockd and as electors: one leads, and etcd hardly notices."""

from __future__ import annotations

import pytest

from lockd.etcd.embedded import Embedded
from tests.harness.contenders import electors, streams
from tests.harness.etcd_load import calls

pytestmark = [pytest.mark.etcd, pytest.mark.timeout(300)]

FEW, MANY = 20, 200
HAND_OFFS = 3


@pytest.fixture(scope="module")
def own():
    """An etcd whose calls are all theirs."""
    with Embedded.start() as cluster:
        yield cluster


@pytest.mark.parametrize("crowd", [streams, electors])
def test_one_of_many_leads_and_etcd_is_asked_as_if_they_were_few(own, prefix, crowd, record_property):
    asked, took = {}, {}
    for number in (FEW, MANY):
        with crowd(own.connection, f"{prefix}-{number}", number) as contenders:
            contenders.leader()
            before = calls(own)
            took[number] = [contenders.hand_off() for _ in range(HAND_OFFS)]
            asked[number] = calls(own) - before
    record_property("seconds", took)
    record_property("calls", asked)
    # No faster than linearly: who was few may have been lucky, so a bound for each and not a ratio.
    assert all(count <= HAND_OFFS * number for number, count in asked.items()), "each asks once a hand-off at most"
    assert asked[MANY] < MANY, "and in truth hardly at all"
