"""What is kept up of promises is what would be found anew, and costs what changed."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from replica.api.priority import Classes
from replica.framework import promises
from replica.framework.crowded import MOST_SAID, Crowded
from replica.framework.diagnosis import Diagnosis
from replica.framework.promises import Promises
from replica.queue.nominator import Nominator
from tests.harness.framework import table_of
from tests.harness.objects import node, pod


def stated(made):
    return made.spec.priority or 0


def told(promised):
    """What a view says, without the numbers of its stamps."""
    rows = range(len(promised.rows))
    assert [bool(stamp) for stamp in promised.stamps] == promised.rows.tolist()
    assert bool(promised) == promised.rows.any()
    return [[each.name for each in promised.on(row)] for row in rows], promised.rows.tolist()


@pytest.mark.parametrize("seed", range(40))
def test_what_is_kept_up_is_what_is_found_anew(seed, monkeypatch):
    draw = random.Random(seed)  # noqa: S311  # drawn tests, no secret
    names = [f"n{number}" for number in range(6)]
    table, nominator, classes = table_of([node("n0")]), Nominator(), Classes()
    pods = [pod(f"p{number}", priority=draw.randrange(3)) for number in range(12)]
    kept = Promises(nominator, stated, classes)
    monkeypatch.setattr(promises, "PRIORITIES", draw.choice((1, 16)))
    for _ in range(60):
        match draw.randrange(5):
            case 0:
                table.set_node(node(draw.choice(names)))
            case 1 if table.snapshot().count > 1:
                table.remove_node(draw.choice(names))
            case 2 if draw.random() < 0.1:
                for _ in range(3000):  # more than is remembered
                    nominator.nominate(pods[0], "n0")
            case _:
                for _ in range(draw.randrange(3)):
                    nominator.nominate(draw.choice(pods), draw.choice((*names, "")))
        if draw.random() < 0.5:
            asks, nodes = draw.choice(pods), table.snapshot()
            anew = Promises(nominator, stated, classes).heeded(asks, nodes)
            assert told(kept.heeded(asks, nodes)) == told(anew)


def test_a_stamp_stands_for_the_pods_that_a_node_is_promised_to():
    table, nominator = table_of([node("a"), node("b")]), Nominator()
    kept, late = Promises(nominator, stated, Classes()), pod("late")
    first, second = pod("first"), pod("second")
    nominator.nominate(first, "a")
    before = kept.heeded(late, table.snapshot()).stamps.copy()
    nominator.nominate(second, "b")
    nominator.nominate(second, "")
    table.set_node(node("b", labels={"new": "label"}))
    assert kept.heeded(late, table.snapshot()).stamps.tolist() == before.tolist()
    nominator.nominate(second, "a")
    with_second = kept.heeded(late, table.snapshot()).stamps.copy()
    assert with_second[0] not in (0, before[0])
    nominator.nominate(second, "")
    assert kept.heeded(late, table.snapshot()).stamps[0] not in (0, before[0], with_second[0])
    assert kept.heeded(first, table.snapshot()).stamps.tolist() == [0, 0]
    assert kept.heeded(late, table.snapshot()).stamps[0]


def test_promises_that_stand_are_not_looked_at_again():
    looked: Counter[str] = Counter()

    def priority(made):
        looked[made.name] += 1
        return 0

    table, nominator = table_of([node(f"n{number}") for number in range(50)]), Nominator()
    kept = Promises(nominator, priority, Classes())
    for number in range(50):
        nominator.nominate(pod(f"p{number}"), f"n{number}")
    kept.heeded(pod("first"), table.snapshot())
    looked.clear()
    nominator.nominate(pod("p7"), "n8")
    kept.heeded(pod("late"), table.snapshot())
    assert looked == {"late": 1, "p8": 1, "p7": 1}


def promised_nodes(size):
    table, nominator = table_of([node(f"n{number}", allocatable={"pods": 10}) for number in range(size)]), Nominator()
    for number in range(size):
        nominator.nominate(pod(f"p{number}"), f"n{number}")
    kept = Promises(nominator, stated, Classes())
    return table, nominator, lambda: (table.snapshot(), kept.heeded(pod("late"), table.snapshot()))


def test_a_row_is_judged_again_when_it_or_its_promises_changed():
    table, nominator, look = promised_nodes(5)
    asked, crowded = [], Crowded(5)

    def judge(row, more):
        asked.append((row, [each.name for each in more]))
        return Diagnosis(1, {"full": 1}) if row < 3 else None

    def found():
        asked.clear()
        nodes, promised = look()
        return crowded.among(nodes.valid, nodes, promised, judge).tolist()

    assert found() == [True, True, True, False, False]
    assert [row for row, _ in asked] == [0, 1, 2, 3, 4]
    assert [(said.counts, rows.tolist()) for said, rows in crowded.diagnoses()] == [
        ({"full": 1}, [True, True, True, False, False])
    ]
    found()
    assert asked == []
    table.add_pod("n1", pod("more"))
    nominator.nominate(pod("p4"), "n3")
    assert found() == [True, True, True, False, False]
    assert asked == [(1, ["p1"]), (3, ["p3", "p4"])]  # nobody is promised n4 any more


def test_what_is_said_of_rows_does_not_fill_the_memory():
    _table, _nominator, look = promised_nodes(MOST_SAID + 2)
    crowded = Crowded(MOST_SAID + 2)
    nodes, promised = look()
    for _ in range(3):
        rows = crowded.among(nodes.valid, nodes, promised, lambda row, _more: Diagnosis(1, {f"reason {row}": 1}))
        assert rows.all()
        said = {reason: rows.nonzero()[0].tolist() for each, rows in crowded.diagnoses() for reason in each.counts}
        assert said == {f"reason {row}": [row] for row in range(MOST_SAID + 2)}
        assert len(list(crowded.diagnoses())) == MOST_SAID + 2
