"""What the report of a failure tells of a cluster."""

from types import SimpleNamespace

from chaos.cluster.interface import End, Target
from chaos.pytest.timeline import Seen, timeline
from tests.harness.history import HistoryMaker
from tests.harness.records import stamps


def target(name, identity):
    return Target(name, identity, 1, 1, "")


def injury(fault, *targets, at, healed_at=None, over=False):
    return SimpleNamespace(
        fault=fault, targets=targets, at=at, proof="it was seen", healed_at=healed_at, healing="it is undone", over=over
    )


def told(made, **fields):
    known = {"began": 2.5, "injuries": (), "ends": (), "names": {"A": "replica-1", "B": "replica-2"}, **fields}
    return list(timeline(Seen(history=made.history(), stamps=stamps(made.revision), **known)))


def test_terms_faults_and_ends_are_told_in_their_order_since_the_test_began():
    made = HistoryMaker()
    first = made.acquire("A")
    made.renew("A")
    second = made.acquire("B")
    kill = injury("kill", target("replica-1", "A"), at=2.75, healed_at=6.0, over=True)
    assert told(made, injuries=(kill,), ends=(End("replica-1", "A", -9, 2.8), End("replica-3", "C", 1, 5.0))) == [
        f"   +0.000 s  replica-1 leads, term {first}",
        "   +0.250 s  fault: kill of replica-1: it was seen",
        "   +0.300 s  replica-1 was ended by signal 9",
        f"   +1.500 s  replica-2 leads by nobody knows what, term {second}",
        "   +2.500 s  replica-3 ended with code 1",
        "   +3.500 s  healed: kill of replica-1: it is undone",
    ]


def test_what_was_before_the_test_is_left_out():
    made = HistoryMaker()
    made.acquire("A")
    made.acquire("B")
    third = made.acquire("A")
    assert told(made, began=100.0, ends=(End("replica-2", "B", 1, 50.0),)) == [
        f"   +0.000 s  replica-1 leads, term {third}",
    ]


def test_a_lease_that_was_given_back_is_told_as_that():
    made = HistoryMaker()
    token = made.acquire("A")
    made.renew("A")
    made.release()
    assert told(made)[1:] == [f"   +1.500 s  replica-1 leads no more: term {token} was given back"]


def test_what_is_in_force_is_told_last_and_what_is_over_is_not_in_force():
    made = HistoryMaker()
    made.acquire("A")
    pause = injury("pause", target("replica-1", "A"), target("replica-2", "B"), at=3.0)
    lost = injury("quorum-loss", at=4.0)
    kill = injury("kill", target("replica-2", "B"), at=5.0, over=True)
    assert told(made, injuries=(pause, lost, kill))[-3:] == [
        "not healed yet:",
        "  pause of replica-1, replica-2, in force since +0.500 s",
        "  quorum-loss of the cluster, in force since +1.500 s",
    ]


def test_a_replica_that_is_there_no_more_is_known_by_its_end():
    made = HistoryMaker()
    made.acquire("C")
    assert told(made, ends=(End("replica-9", "C", 0, 1.0),)) == ["   +0.000 s  replica-9 leads, term 2"]


def test_a_cluster_that_nobody_led_and_nobody_hurt():
    assert told(HistoryMaker()) == ["nothing was done to the cluster, and nobody else came to lead"]
