from dataclasses import replace

import pytest

from chaos.cluster.interface import Target
from chaos.effect import Effect
from chaos.history import Stamp
from chaos.ledger import Ledger
from chaos.record import Exit
from chaos.runner import assembly
from chaos.runner.deed import Deed
from chaos.runner.schedule import Planned
from tests.harness.history import LOCK, HistoryMaker

R1, R2 = Target("replica-1", "A", 1, 1, ""), Target("replica-2", "B", 2, 2, "")
E1 = Target("etcd-1", "etcd-1", 3, 3, "")


def deed(fault, *targets, role="leader", healed_at=20.0, **more):
    planned = Planned(fault=fault, role=role, draw=0.0, trigger="when", what="bind-in-flight", nth=2, **more)
    return Deed(planned=planned, targets=targets, at=10.0, wall=1000.0, proof="p", healed_at=healed_at, healing="h")


def actions(found, exits=(), made=None, stamps=None):
    ledger = Ledger.of((made or HistoryMaker()).history())
    return list(assembly._actions([found], ledger, stamps or {}, exits))


def test_an_action_for_each_target():
    first, second = actions(deed("pause", R1, R2, role="all", lasts=3.0))
    assert (first.target, first.identity, second.identity) == ("replica-1", "A", "B")
    assert (first.effect, first.at, first.healed_at, first.proof, first.healing) == (Effect.PAUSE, 10.0, 20.0, "p", "h")
    assert (first.role, first.trigger, first.nth, first.heals) == ("all", "when bind-in-flight", 2, True)


@pytest.mark.parametrize(
    ("found", "effect", "heals"),
    [
        (deed("kill", R1), Effect.KILL, False),
        (deed("kill", R1, role="all"), Effect.KILL, True),
        (deed("kill", E1, role="etcd-leader"), Effect.STORE, True),
        (deed("pause", E1, role="etcd-leader"), Effect.STORE, True),
        (deed("compact", role=""), Effect.STORE, False),
        (deed("quorum-loss", role=""), Effect.STORE, True),
    ],
)
def test_what_there_is_to_undo(found, effect, heals):
    (action,) = actions(found)
    assert (action.effect, action.heals) == (effect, heals)


def test_who_is_ended_later_by_the_same_fault():
    exits = [
        Exit(name="replica-1", identity="A", code=0, at=10.1),
        Exit(name="replica-2", identity="B", code=0, at=14.0),
        Exit(name="replica-3", identity="C", code=1, at=15.0),
        Exit(name="replica-2", identity="D", code=0, at=25.0),
    ]
    found = actions(deed("rolling-restart", R1, R2, role="all"), exits)
    assert [(each.identity, each.at) for each in found] == [("A", 10.0), ("B", 14.0)]
    assert {each.effect for each in found} == {Effect.STOP}
    looped = actions(deed("crash-loop", R2), exits)
    assert [(each.identity, each.at) for each in looped] == [("B", 10.0)]


def test_writes_to_the_lease_by_hand_are_the_faults():
    made = HistoryMaker()
    made.acquire("A")  # 2
    made.renew("A")  # 3
    made.commit({f"leases/{LOCK}": b"garbage"})  # 4
    made.renew("stranger")  # 5
    made.commit({f"leases/{LOCK}": None})  # 6
    made.renew("A")  # 7
    stamps = {revision: Stamp(8.0 + revision, 0.0) for revision in range(2, 8)}
    (action,) = actions(deed("garble-lease", role=""), made=made, stamps=stamps)
    assert (action.effect, action.revisions) == (Effect.KEYS, (4, 5, 6))
    (other,) = actions(deed("compact", role=""), made=made, stamps=stamps)
    assert other.revisions == ()


def test_who_could_hear_of_no_member():
    def cut(**parameters):
        return list(assembly._cut_off([deed("cut", R1, parameters=parameters)]))

    (found,) = cut()
    assert (found.identity, found.at, found.until) == ("A", 10.0, 20.0)
    assert cut(off="presence") == cut(members=1) == []


def test_a_cut_counts_until_a_newer_fault_of_its_links():
    newer = replace(deed("delay", R1), at=14.0)
    elsewhere = replace(deed("delay", R2), at=12.0)
    (found,) = assembly._cut_off([deed("cut", R1), elsewhere, newer])
    assert (found.at, found.until) == (10.0, 14.0)


def test_a_leader_that_gave_its_term_back_had_been_asked_before_that():
    """Its successor was there before it had ended: the hand-off would be nobody's."""
    made = HistoryMaker()
    made.acquire("B")
    released = made.release()
    stamps = {released: Stamp(13.5, 1003.5)}
    exits = [Exit(name="replica-2", identity="B", code=0, at=14.0)]
    found = actions(deed("rolling-restart", R1, R2, role="all"), exits, made, stamps)
    assert [(each.identity, each.at) for each in found] == [("A", 10.0), ("B", 13.5)]
    stamps = {released: Stamp(9.0, 999.0)}  # before the fault: of another reason
    found = actions(deed("rolling-restart", R1, R2, role="all"), exits, made, stamps)
    assert found[1].at == 14.0
