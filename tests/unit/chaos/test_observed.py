import pytest

from chaos.auditor import Stamp
from chaos.ledger import Ledger
from chaos.observed import Fault, moments, observe
from tests.harness.history import HistoryMaker


def stamp(revision):
    """Revision r was seen at second r, and 1000 on the wall."""
    return Stamp(float(revision), 1000.0 + revision) if revision < 100 else None


@pytest.fixture
def made():
    made = HistoryMaker()
    made.node("n1")  # 2
    made.pod("p1")  # 3
    made.acquire("A")  # 4
    made.bind("p1", "n1")  # 5
    return made


def test_a_release_is_seen_before_the_next_acquire(made):
    made.release()  # 6
    made.acquire("X", lock="other/lock")  # 7
    token = made.acquire("B")  # 8
    made.pod("p1", node="n1", token=token, cpu="2")  # 9: no bind, it had its node
    made.pod("p2")  # 10
    made.bind("p2", "n1")  # 11
    (seen,) = observe(Ledger.of(made.history()), [Fault("SIGTERM", "A", 5.5)], stamp)
    assert (seen.successor.identity, seen.successor.token) == ("B", token)
    assert (seen.released, seen.held, seen.bound) == (0.5, 2.5, 5.5)


def test_a_killed_leader_releases_nothing(made):
    made.acquire("B")  # 6
    (seen,) = observe(Ledger.of(made.history()), [Fault("kill -9", "A", 5.0)], stamp)
    assert (seen.released, seen.held, seen.bound) == (None, 1.0, None)


def test_a_fault_that_nobody_followed_is_left_out(made):
    assert observe(Ledger.of(made.history()), [Fault("kill -9", "A", 5.0)], stamp) == ()


def test_moments_count_from_the_first_term(made):
    made.release()  # 6
    made.acquire("B")  # 7
    made.revision = 199
    made.acquire("C")  # 200: the watch has not brought it
    assert moments(Ledger.of(made.history()), stamp) == {4: 0.0, 6: 2.0, 7: 3.0}
