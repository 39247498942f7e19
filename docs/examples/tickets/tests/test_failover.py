"""No number is given twice, whatever becomes of the leader."""

from __future__ import annotations

import json
import threading
import urllib.request

import pytest
from tickets.counter import token_of

PATIENCE = 60
"""Rounds, with a second between: far more than any failover takes."""


class Customers:
    """Whoever takes numbers: they ask one replica after the other until one gives one, as customers do."""

    def __init__(self, cluster) -> None:
        self._cluster = cluster
        self.numbers: list[int] = []

    def ask(self) -> int | None:
        """A number, if one of the replicas gives one now."""
        for replica in self._cluster.replicas():
            request = urllib.request.Request(f"{replica.address}/tickets", method="POST")
            try:
                with urllib.request.urlopen(request, timeout=10.0) as answer:
                    self.numbers.append(json.load(answer)["number"])
                    return self.numbers[-1]
            except OSError:
                continue  # it stands by, or is gone
        return None

    def take(self) -> int:
        """A number, as soon as one is given."""
        for _ in range(PATIENCE):
            if (number := self.ask()) is not None:
                return number
            threading.Event().wait(1.0)
        raise AssertionError("no number was given in a minute")

    @property
    def unique(self) -> bool:
        return len(set(self.numbers)) == len(self.numbers)


@pytest.fixture
def customers(ha_cluster):
    return Customers(ha_cluster)


def test_a_killed_leader_is_replaced_and_no_number_is_given_twice(customers, measure_failover, assert_no_stale_writes):
    customers.take()
    failover = measure_failover("kill", probe=customers.ask)
    customers.take()

    assert customers.unique
    assert failover.old.identity != failover.new.identity
    assert failover.elected <= failover.served
    assert_no_stale_writes("/tickets/", token=token_of, at_least=3)


@pytest.mark.slow
def test_a_leader_that_is_asked_to_end_is_replaced(customers, measure_failover, assert_no_stale_writes):
    first = customers.take()
    failover = measure_failover("terminate", probe=customers.ask)

    assert failover.phases()["elected"] > 0.0
    assert customers.take() > first
    assert customers.unique
    assert_no_stale_writes("/tickets/", token=token_of, at_least=3)


@pytest.mark.slow
def test_a_leader_that_stands_still_gives_no_number_when_it_wakes_up(
    customers, hurt, wait_for_leader, assert_no_stale_writes
):
    old = wait_for_leader()
    with hurt("pause", "leader") as pause:
        wait_for_leader(other_than=pause.target)
        customers.take()
    customers.take()

    assert customers.unique
    assert wait_for_leader().identity != old.identity
    assert_no_stale_writes("/tickets/", token=token_of, at_least=2)


@pytest.mark.slow
@pytest.mark.ha_cluster(members=3, links=True)
def test_a_leader_that_is_cut_off_from_etcd_is_replaced(customers, measure_failover, assert_no_stale_writes):
    customers.take()
    measure_failover("cut", off="etcd", probe=customers.ask)

    assert customers.unique
    assert_no_stale_writes("/tickets/", token=token_of, at_least=2)
