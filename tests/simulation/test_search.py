"""The lock's transactions hold in every order of events that the limits below allow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lockd import store
from lockd.candidacy import Candidacy
from lockd.evidence import Evidence
from lockd.fencing import Guard
from lockd.ports import Compare, Field, Release, Txn
from tests.simulation import world
from tests.simulation.canonical import unknown_fields
from tests.simulation.search import Limits, Search, Violation


def explore(limits: Limits, record_property) -> Search:
    search = Search(limits).run()
    record_property("states", search.states)
    record_property("steps", search.steps)
    print(f"{limits}: {search.states} states, {search.steps} steps, {len(search.world.machines)} elections")  # noqa: T201
    return search


def test_the_search_knows_all_that_an_election_holds():
    assert unknown_fields() == [], "tests/simulation/canonical.py must say whether it tells elections apart"


def test_two_candidates_four_transactions_each_one_death(record_property):
    assert explore(Limits(replicas=2, transactions=4, deaths=1), record_property).states > 30_000


def test_two_candidates_asked_to_stop(record_property):
    assert explore(Limits(replicas=2, transactions=3, deaths=0, stops=2), record_property).states > 10_000


def test_a_person_who_deletes_a_key_of_the_lock(record_property):
    assert explore(Limits(replicas=2, transactions=3, deaths=0, deletions=1), record_property).states > 10_000


def test_a_person_who_deletes_both(record_property):
    assert explore(Limits(replicas=2, transactions=2, deaths=0, stops=1, deletions=2), record_property).states > 10_000


def test_an_etcd_that_was_wiped(record_property):
    assert explore(Limits(replicas=2, transactions=2, stops=1, wipes=1), record_property).states > 1_000


def test_three_candidates(record_property):
    assert explore(Limits(replicas=3, transactions=2), record_property).states > 10_000


def test_evidence_against_the_dead_and_the_living(record_property):
    assert explore(Limits(replicas=2, transactions=3, deaths=1, evidence=2), record_property).states > 5_000


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "limits",
    [
        Limits(replicas=3, transactions=2, deaths=0, evidence=2),
        Limits(replicas=2, transactions=4, deaths=1, evidence=2),
        Limits(replicas=2, transactions=5, deaths=1, evidence=3),
        Limits(replicas=3, transactions=3, deaths=1, evidence=2),
        Limits(replicas=2, transactions=3, deaths=1, deletions=1, evidence=2),
        Limits(replicas=2, transactions=5, deaths=1),
        Limits(replicas=2, transactions=4, deaths=0, stops=2),
        Limits(replicas=2, transactions=4, deaths=0, deletions=1),
        Limits(replicas=2, transactions=3, deaths=1, deletions=2),
        Limits(replicas=2, transactions=3, deaths=1, deletions=1, wipes=1),
        Limits(replicas=3, transactions=3, deaths=1),
    ],
    ids=str,
)
def test_larger(limits, record_property):
    assert explore(limits, record_property).states > 50_000


# --- the search finds what it is for ---


def changed(monkeypatch, change):
    """Send other transactions than the store would."""
    monkeypatch.setattr(world, "to_txn", lambda lock, transaction: change(store.to_txn(lock, transaction), transaction))


def without(txn, keep):
    otherwise = tuple(without(op, keep) if isinstance(op, Txn) else op for op in txn.otherwise)
    return Txn(tuple(filter(keep, txn.compares)), txn.then, otherwise)


def test_it_finds_a_release_that_does_not_compare_its_term(monkeypatch):
    def change(txn, transaction):
        return without(txn, lambda c: False) if isinstance(transaction, Release) else txn

    changed(monkeypatch, change)
    with pytest.raises(Violation, match="S2"):
        Search(Limits(replicas=2, transactions=3)).run()


def test_it_finds_a_term_known_by_its_revision_alone(monkeypatch):
    changed(monkeypatch, lambda txn, _: without(txn, lambda c: c.field is not Field.VALUE))
    with pytest.raises(Violation, match="S2"):
        Search(Limits(replicas=2, transactions=2, wipes=1)).run()


def test_it_finds_a_guard_that_names_its_term_by_the_revision_alone(monkeypatch):
    monkeypatch.setattr(Guard, "compares", lambda guard: (Compare(guard.key, Field.MOD, guard.token),))
    with pytest.raises(Violation, match="two leaders by etcd"):
        Search(Limits(replicas=2, transactions=2, wipes=1)).run()


def test_it_finds_a_candidate_that_begins_another_while_one_is_unsettled(monkeypatch):
    def forget(election, transaction, now):
        return replace(election, unsettled=None)

    monkeypatch.setattr(Candidacy, "copy_failed", forget)
    with pytest.raises(Violation, match="is unsettled"):
        Search(Limits(replicas=2, transactions=2)).run()


def test_a_violation_tells_the_way_to_it(monkeypatch):
    monkeypatch.setattr(Candidacy, "copy_failed", lambda election, *_: replace(election, unsettled=None))
    with pytest.raises(Violation) as caught:
        Search(Limits(replicas=1, transactions=2)).run()
    way = str(caught.value).splitlines()
    assert "'sends', Acquire" in way[1]
    assert "Failed" in way[2]
    assert way[-1].startswith("after which one more step breaks it")


def test_it_finds_evidence_that_is_kept_against_whoever_holds_the_lock_next(monkeypatch):
    monkeypatch.setattr(Evidence, "names", lambda *_: True)
    with pytest.raises(Violation, match="evidence against"):
        Search(Limits(replicas=3, transactions=2, deaths=0, evidence=2)).run()


def test_it_finds_evidence_that_is_never_used_up(monkeypatch):
    monkeypatch.setattr(Evidence, "tried", lambda evidence: evidence)
    monkeypatch.setattr(Evidence, "after", lambda evidence, _: evidence)
    with pytest.raises(Violation, match="tries and tries"):
        Search(Limits(replicas=2, transactions=4, deaths=0, evidence=1)).run()
