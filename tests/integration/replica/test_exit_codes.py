"""What a replica ends with: 0 when it was asked to, 1 when its term was taken from it."""

from __future__ import annotations

import pytest

from lockd.ports import Delete, Txn

pytestmark = pytest.mark.etcd


@pytest.fixture
def leader(crew):
    """One in the test's own process: it has no watchdog, whose code would hide its own."""
    one = crew.join("a")
    crew.until_leads(one)
    return one


def test_a_term_that_was_taken_away_is_a_failure(crew, leader):
    crew.gateway.txn(Txn((), (Delete(crew.lock.lease),)), timeout=5.0)
    assert leader.wait_for_end(within=20.0) == 1


def test_an_end_that_was_asked_for_is_none(leader):
    leader.terminate()
    assert leader.wait_for_end(within=20.0) == 0
