import pytest

from chaos.history import Stamp
from chaos.ledger import Ledger
from chaos.record import Gap, Record
from chaos.runner import expecting
from chaos.scenario import loading
from chaos.scenario.faults import Registered
from chaos.timing import Timing
from tests.harness.history import HistoryMaker

FAST = Timing(lease_duration=3.0, renew_deadline=2.0, retry_period=0.5)


def scenario(**expectations):
    document = {"title": "t", "description": "d.", "method": [{"fault": "kill"}], "expectations": expectations}
    return loading.decode(document, Registered())


@pytest.fixture
def record():
    """A began a term at second 2, B at second 12."""
    made = HistoryMaker()
    made.acquire("A")  # revision 2
    made.revision = 11
    made.acquire("B")  # 12
    ledger = Ledger.of(made.history())
    stamps = {revision: Stamp(float(revision), 0.0) for revision in (2, 12)}
    return Record(ledger=ledger, stamps=stamps, gaps=(Gap(began=5.0, seconds=4.0),), timing=FAST)


def unmet(record, began, ended, **expectations):
    return list(expecting.unmet(scenario(**expectations), record, began=began, ended=ended))


def test_the_leader_changes_or_stays(record):
    never = [f"phase {name} was not reached" for name in ("detected", "elected", "warm", "first_bind")]
    assert unmet(record, 10.0, 20.0, leader="changes") == never
    assert unmet(record, 13.0, 20.0, leader="changes") == [*never, "another leader was expected, and no term began"]
    assert unmet(record, 13.0, 20.0, leader="stays") == []
    assert unmet(record, 10.0, 20.0, leader="stays") == ["the leader was expected to stay, and B began term 12"]
    assert unmet(record, 10.0, 20.0) == []


def test_of_replicas_that_tell_nothing_only_what_etcd_shows_is_wanted(record):
    wanted = scenario(leader="changes")
    told = list(expecting.unmet(wanted, record, began=10.0, ended=20.0, traced=False))
    assert told == ["phase elected was not reached", "phase first_bind was not reached"]


def test_the_gap_is_bounded_in_leases(record):
    assert unmet(record, 0.0, 20.0, **{"client-gap-at-most": "1 lease + 1s"}) == []
    (told,) = unmet(record, 0.0, 20.0, **{"client-gap-at-most": "1 lease"})
    assert told == "the client gap took 4s, more than 1 lease (3s)"


def test_which_phases_are_wanted():
    assert expecting.wanted(scenario(leader="changes")) == ("detected", "elected", "warm", "first_bind")
    assert expecting.wanted(scenario()) == ()
